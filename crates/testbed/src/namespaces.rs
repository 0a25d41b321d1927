//! Namespaces that nobody else sees: they have no name, and end with the processes in them.
//!
//! The processes behind a link live in a process-id namespace whose first process runs the link. The
//! kernel kills all of them when that one ends, in whatever way, and with them go the namespaces, the
//! devices and the routes: there is nothing to clean up, so nothing can be left behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::thread;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{getgid, getuid};

use crate::Error;
use crate::realtime::Devices;
use crate::sys;

/// The client's address, from the range of RFC 6598: no public one, and hardly ever a local one.
pub const CLIENT_ADDRESS: &str = "100.64.0.1";
/// The server's first address.
pub const SERVER_ADDRESS: &str = "100.64.0.2";
/// All of these are the server's, too: a server may have an address for each host.
pub const SERVER_ADDRESSES: &str = "100.65.0.0/16";
/// The client's address on each path.
pub const CLIENT_ADDRESSES: [&str; 2] = [CLIENT_ADDRESS, "100.64.1.1"];
/// Names of the devices in each namespace, path by path.
const DEVICES: [&str; 2] = ["link0", "link1"];
/// Numbers of the routing tables of paths that have one: this, and the path's.
const OWN_TABLE: usize = 100;
const MTU_BYTES: u32 = 1500;
/// The device must never be the bottleneck: about 15 MB of full packets.
const DEVICE_QUEUE_PACKETS: u32 = 10_000;

const NAMESPACE_HINT: &str = "links need root, or user namespaces \
    (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), \
    in a container `--privileged`";

/// A network namespace for the client and one for the server.
#[derive(Debug)]
pub struct Namespaces {
    client: OwnedFd,
    server: OwnedFd,
    rootless: bool,
}

/// How TCP behaves in both namespaces.
#[derive(Clone, Debug)]
pub(crate) struct TcpSettings<'a> {
    pub initial_window_segments: u64,
    /// The kernel's name.
    pub congestion: &'a str,
}

impl Namespaces {
    /// Makes both, and puts the calling process's future children into a process-id namespace; the
    /// first of them must call [`become_init`]. The process must have one thread only. Without root
    /// it becomes root of a user namespace.
    ///
    /// # Errors
    /// Where the kernel does not allow it.
    pub fn create() -> Result<Namespaces, Error> {
        let (user, group) = (getuid(), getgid());
        let wanted = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS;
        let rootless = match unshare(wanted) {
            Err(Errno::EPERM) => {
                unshare(wanted | CloneFlags::CLONE_NEWUSER)
                    .map_err(Error::of("make namespaces", NAMESPACE_HINT))?;
                // user_namespaces(7): without privileges groups can be mapped after this only.
                fs::write("/proc/self/setgroups", "deny")
                    .and_then(|()| fs::write("/proc/self/uid_map", format!("0 {user} 1")))
                    .and_then(|()| fs::write("/proc/self/gid_map", format!("0 {group} 1")))
                    .map_err(Error::of("become root of a user namespace", NAMESPACE_HINT))?;
                true
            }
            other => {
                other.map_err(Error::of("make namespaces", NAMESPACE_HINT))?;
                false
            }
        };
        // What is mounted here stays here.
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
            .map_err(Error::of("keep mounts private", NAMESPACE_HINT))?;
        let client = own_network()?;
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(Error::of("make a second network namespace", NAMESPACE_HINT))?;
        let server = own_network()?;
        Ok(Namespaces { client, server, rootless })
    }

    /// The client's network namespace.
    pub fn client(&self) -> BorrowedFd<'_> {
        self.client.as_fd()
    }

    /// The server's network namespace.
    pub fn server(&self) -> BorrowedFd<'_> {
        self.server.as_fd()
    }

    /// A user namespace was needed.
    pub fn rootless(&self) -> bool {
        self.rootless
    }

    /// Makes the devices, addresses and routes of one or two paths. What does not choose a path takes
    /// `first_path`.
    pub(crate) fn connect(
        &self,
        tcp: &TcpSettings,
        paths: usize,
        first_path: usize,
    ) -> Result<Vec<Devices>, Error> {
        let client = inside(self.client(), || set_up_client(tcp, paths, first_path))?;
        let server = inside(self.server(), || set_up_server(tcp, paths, first_path))?;
        let pairs = client.into_iter().zip(server);
        Ok(pairs.map(|(client, server)| Devices { client, server }).collect())
    }

    /// Packets that the devices dropped before the link saw them.
    pub(crate) fn device_drops(&self) -> DeviceDrops {
        DeviceDrops {
            client: inside(self.client(), transmit_drops),
            server: inside(self.server(), transmit_drops),
        }
    }
}

/// Of each path's device at each end.
pub(crate) struct DeviceDrops {
    pub client: [u64; 2],
    pub server: [u64; 2],
}

/// Completes the namespaces from within, as their first process: the processes get a /proc of their
/// own, and end with their first process's parent.
///
/// # Errors
/// If the kernel refuses to tie the process to its parent.
pub fn become_init() -> Result<(), Error> {
    die_with_parent()?;
    // Where parts of /proc are hidden (an unprivileged container) the kernel gives no new one. Most
    // programs work with the old one: its links "self" and "thread-self" are right.
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>);
    // No name server can be reached. Without one the resolver gives up at once, with the
    // machine's it would send packets over the link and wait for answers.
    let bind = MsFlags::MS_BIND;
    let _ = mount(Some("/dev/null"), "/etc/resolv.conf", None::<&str>, bind, None::<&str>);
    Ok(())
}

/// The kernel kills the calling process when the thread that made it ends.
///
/// # Errors
/// Never, on a kernel of this century.
pub fn die_with_parent() -> Result<(), Error> {
    prctl::set_pdeathsig(Some(Signal::SIGKILL))
        .map_err(Error::of("tie a process to its parent", "this is a mistake of Loadpath"))
}

/// Moves the calling process, which must have one thread only, into the namespaces of a link: those of
/// process `owner`, which called [`Namespaces::create`], and the network namespace that it has open
/// as `network`. Only children made afterwards are in the process-id namespace.
///
/// # Errors
/// If the link has ended, or is another user's.
pub fn enter(owner: u32, network: RawFd) -> Result<(), Error> {
    let hint = "the link may have ended";
    let open = |path: String| {
        File::open(format!("/proc/{owner}/{path}")).map_err(Error::of("find the link", hint))
    };
    let user = open("ns/user".into())?;
    let (mounts, pids) = (open("ns/mnt".into())?, open("ns/pid_for_children".into())?);
    let network = open(format!("fd/{network}"))?;
    let inode = |metadata: io::Result<fs::Metadata>| {
        metadata.map(|m| m.ino()).map_err(Error::of("compare user namespaces", hint))
    };
    let mut steps = vec![
        (&network, CloneFlags::CLONE_NEWNET),
        (&pids, CloneFlags::CLONE_NEWPID),
        (&mounts, CloneFlags::CLONE_NEWNS),
    ];
    // Nobody may enter the user namespace that they are in.
    if inode(fs::metadata("/proc/self/ns/user"))? != inode(user.metadata())? {
        steps.insert(0, (&user, CloneFlags::CLONE_NEWUSER));
    }
    for (namespace, kind) in steps {
        setns(namespace, kind).map_err(Error::of("enter the namespaces of the link", hint))?;
    }
    Ok(())
}

fn own_network() -> Result<OwnedFd, Error> {
    let file = File::open("/proc/self/ns/net")
        .map_err(Error::of("open /proc/self/ns/net", "/proc must be mounted"))?;
    Ok(file.into())
}

/// Runs `work` on a thread inside a network namespace.
fn inside<R: Send>(network: BorrowedFd<'_>, work: impl FnOnce() -> R + Send) -> R {
    let thread = || {
        setns(network, CloneFlags::CLONE_NEWNET).expect("our own namespaces can be entered");
        work()
    };
    thread::scope(|scope| scope.spawn(thread).join().expect("work does not panic"))
}

/// Sets up the network namespace of this thread as the client's.
fn set_up_client(tcp: &TcpSettings, paths: usize, first_path: usize) -> Result<Vec<File>, Error> {
    let files = set_up(tcp, paths, |routes| {
        let mut commands = String::new();
        for (path, device) in DEVICES.iter().enumerate().take(paths) {
            let address = CLIENT_ADDRESSES[path];
            commands += &format!("address add {address}/32 dev {device}\n");
            if path == first_path {
                commands += &format!("route add default dev {device} src {address} {routes}\n");
            } else {
                // What has the path's address leaves over the path.
                let table = OWN_TABLE + path;
                commands += &format!(
                    "route add default dev {device} src {address} table {table} {routes}\n\
                     rule add from {address} lookup {table}\n"
                );
            }
        }
        commands
    })?;
    if paths > 1 {
        let other = 1 - first_path;
        let (address, device) = (CLIENT_ADDRESSES[other], DEVICES[other]);
        multipath(&[LIMITS, &format!("endpoint add {address} dev {device} subflow")])?;
    }
    Ok(files)
}

/// Sets up the network namespace of this thread as the server's.
fn set_up_server(tcp: &TcpSettings, paths: usize, first_path: usize) -> Result<Vec<File>, Error> {
    let files = set_up(tcp, paths, |routes| {
        let mut commands = format!(
            "address add {SERVER_ADDRESS}/32 dev {}\n\
             route add default dev {} {routes}\n\
             route add local {SERVER_ADDRESSES} dev lo\n",
            DEVICES[first_path], DEVICES[first_path]
        );
        for (path, device) in DEVICES.iter().enumerate().take(paths) {
            if path != first_path {
                let address = CLIENT_ADDRESSES[path];
                commands += &format!("route add {address}/32 dev {device} {routes}\n");
            }
        }
        commands
    })?;
    if paths > 1 {
        multipath(&[LIMITS])?;
    }
    Ok(files)
}

/// Sets up the network namespace of this thread; `addresses` gives commands for iproute2 that use the
/// options of routes given to it.
fn set_up(
    tcp: &TcpSettings,
    paths: usize,
    addresses: impl FnOnce(&str) -> String,
) -> Result<Vec<File>, Error> {
    // Neighbour and router discovery would be packets that nobody asked for.
    sysctl("ipv6/conf/all/disable_ipv6", "1").or_else(missing_is_fine)?;
    sysctl("ipv6/conf/default/disable_ipv6", "1").or_else(missing_is_fine)?;
    // Every connection starts without what the kernel learnt from earlier ones.
    sysctl("ipv4/tcp_no_metrics_save", "1")
        .map_err(Error::of("set tcp_no_metrics_save", "/proc/sys must be writable"))?;
    let TcpSettings { initial_window_segments, congestion } = tcp;
    if paths > 1 {
        // Subflows that the other end opens do not ask the route. Where the kernel does not allow it
        // (net.ipv4.tcp_allowed_congestion_control), it shows when sockets are read back.
        let _ = sysctl("ipv4/tcp_congestion_control", congestion);
    }
    let open = |device: &&str| {
        sys::open_tun(device).map_err(Error::of(
            "make a TUN device",
            "load the kernel module (modprobe tun); a container needs --device /dev/net/tun",
        ))
    };
    let files = DEVICES.iter().take(paths).map(open).collect::<Result<Vec<_>, _>>()?;
    let mut commands = "link set dev lo up\n".to_string();
    for device in &DEVICES[..paths] {
        commands += &format!(
            "link set dev {device} mtu {MTU_BYTES} txqueuelen {DEVICE_QUEUE_PACKETS}\n\
             link set dev {device} up\n"
        );
    }
    commands += &addresses(&format!("initcwnd {initial_window_segments} congctl {congestion}"));
    ip(&["-batch", "-"], &commands).map_err(|message| {
        let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        if known.split_whitespace().any(|name| name == *congestion) {
            Error::new(message, "install iproute2, version 5 or newer")
        } else {
            Error::new(
                format!("the kernel has no congestion controller {congestion:?} ({message})"),
                format!("it has {}", known.trim()),
            )
        }
    })?;
    Ok(files)
}

/// One subflow more than the first, and what the other end may add.
const LIMITS: &str = "limits set subflow 2 add_addr_accepted 2";

/// Tells MPTCP of this thread's namespace what to do, by commands of `ip mptcp`.
fn multipath(commands: &[&str]) -> Result<(), Error> {
    let hint = "two paths need a kernel with CONFIG_MPTCP (Linux 5.13) and iproute2 5.13";
    sysctl("mptcp/enabled", "1").map_err(Error::of("switch MPTCP on", hint))?;
    for command in commands {
        let words: Vec<_> = iter::once("mptcp").chain(command.split_whitespace()).collect();
        ip(&words, "").map_err(|message| Error::new(message, hint))?;
    }
    Ok(())
}

/// Writes a network setting of this thread's namespace.
fn sysctl(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/{name}"), value)
}

/// A kernel without IPv6 has nothing to switch off.
fn missing_is_fine(error: io::Error) -> Result<(), Error> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(Error::of("switch off IPv6", "/proc/sys must be writable")(error)),
    }
}

/// Runs `ip` of iproute2 in this thread's namespace; what it said if that fails.
fn ip(arguments: &[&str], input: &str) -> Result<(), String> {
    let run = || -> io::Result<_> {
        let mut child = Command::new("ip")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        // Nobody reads at the other end if `ip` has failed already; its message says why.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        child.wait_with_output()
    };
    let output = run().map_err(|error| format!("cannot run `ip` of iproute2: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ip` failed: {}", said.trim().replace('\n', ", ")))
}

/// Packets that the devices of this thread's namespace dropped, proc_pid_net(5).
fn transmit_drops() -> [u64; 2] {
    /// Behind the name and eight columns of what was received: bytes, packets, errors, drops.
    const COLUMN: usize = 11;
    let lines = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    DEVICES.map(|device| {
        lines
            .lines()
            .find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))
            .and_then(|columns| columns.split_whitespace().nth(COLUMN)?.parse().ok())
            .unwrap_or(0)
    })
}

/// For another process of the same user: what [`enter`] takes.
impl Namespaces {
    /// Descriptors of the client's and the server's network namespace.
    pub fn descriptors(&self) -> (RawFd, RawFd) {
        (self.client.as_raw_fd(), self.server.as_raw_fd())
    }
}
