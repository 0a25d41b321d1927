//! A server as a process: a line when it is ready, lines of reports, an end.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::config::Config;
use crate::error::Error;
use crate::server::Server;

/// Two of them serve while a browser runs beside them; a page needs less than one.
const THREADS: usize = 2;

/// Serves until SIGTERM, Ctrl-C or, with [`Config::control`], the end of standard input.
///
/// Prints a line of JSON when it is ready ([`crate::Ready`]), and a report ([`crate::Report`]) for
/// each line of input and at the end.
pub fn run(config: &Config) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Error::new(format!("cannot start threads: {error}"), "fewer processes"))?;
    let result = runtime.block_on(serve(config));
    // Connections end without a word, as those of a server that is gone.
    runtime.shutdown_timeout(Duration::ZERO);
    result
}

async fn serve(config: &Config) -> Result<(), Error> {
    let hear = |kind| {
        signal(kind).map_err(|error| Error::new(format!("signals: {error}"), "another system"))
    };
    let (mut term, mut int) = (hear(SignalKind::terminate())?, hear(SignalKind::interrupt())?);
    let mut server = Server::start(config)?;
    let (sender, mut asked) = mpsc::channel::<()>(1);
    if config.control {
        // A thread, since reading standard input cannot be interrupted.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                if line.is_err() || sender.blocking_send(()).is_err() {
                    break;
                }
            }
        });
    } else {
        std::mem::forget(sender);
    }
    print(server.ready());
    loop {
        tokio::select! {
            _ = term.recv() => break,
            _ = int.recv() => break,
            line = asked.recv() => match line {
                Some(()) => print(&server.report()),
                None => break,
            },
        }
    }
    server.stop();
    print(&server.report());
    Ok(())
}

/// Nobody may read it any more; the server ends all the same.
fn print(message: &impl Serialize) {
    let mut line = serde_json::to_vec(message).expect("plain data serialises");
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}
