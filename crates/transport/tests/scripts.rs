//! One test for each packet script in `tests/scripts`.

mod packet_script;

macro_rules! scripts {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let file = concat!(stringify!($name), ".pkt");
                let text = include_str!(concat!("scripts/", stringify!($name), ".pkt"));
                if let Err(error) = packet_script::run(text) {
                    panic!("tests/scripts/{file}, {error}");
                }
            }
        )*
        const LISTED: &[&str] = &[$(stringify!($name)),*];
    };
}

scripts! {}

#[test]
fn every_script_in_the_folder_is_listed_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".pkt")?.to_string()))
        .collect();
    found.sort_unstable();
    let mut listed: Vec<&str> = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

#[test]
fn a_script_that_expects_something_else_fails_at_its_line() {
    let fails_at = |text: &str, line: usize, part: &str| {
        let error = packet_script::run(text).expect_err("it must fail");
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(part), "{error}");
    };
    let start = "established rtt=100\nwrite 1 1000\n";
    assert!(packet_script::run(&format!("{start}> P. 1:1001 ack 1")).is_ok());
    fails_at(&format!("{start}> P. 1:1002 ack 1"), 3, "len differs");
    fails_at(&format!("{start}> . 1:1001 ack 1"), 3, "flags differs");
    fails_at(&format!("{start}> P. 1:1001 ack 1 again"), 3, "again differs");
    fails_at(&format!("{start}+1 > P. 1:1001 ack 1"), 3, "expected at 1");
    fails_at(&format!("{start}> P. 1:1001 ack 1\n> P. 1:1001 ack 1"), 4, "got nothing");
    fails_at(&format!("{start}assert cwnd == 4000"), 3, "nothing expected");
    fails_at(&format!("{start}> P. 1:1001 ack 1\nassert cwnd == 1"), 4, "got 4000");
    fails_at(&format!("{start}> P. 1:1001 ack 1\n+400 wait"), 4, "again");
    fails_at("config nonsense=1", 1, "unknown key");
    fails_at("established rtt=100\nwrite 1 1000\n", 2, "nothing expected");
}
