//! The kernel interfaces that have no safe wrapper. All of the crate's unsafe code is here.
#![allow(unsafe_code, reason = "two system calls without a safe wrapper")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

mod ioctl {
    use nix::libc;
    // linux/if_tun.h: _IOW('T', 202, int), though what it takes is an ifreq.
    nix::ioctl_write_ptr_bad!(
        tunsetiff,
        nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
        libc::ifreq
    );
}

/// A new TUN device in the network namespace of this thread; it vanishes with the file. Reads and
/// writes are whole IP packets and do not block. No offload is on: packets are as large as the MTU at
/// most.
pub(crate) fn open_tun(name: &str) -> io::Result<File> {
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: ifreq is plain data, for which zeros are a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "a name and its final zero must fit");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open and the kernel only reads and writes the ifreq during the call.
    unsafe { ioctl::tunsetiff(tun.as_raw_fd(), &request) }?;
    Ok(tun)
}

/// Gives this thread real-time priority; false where that is not allowed.
pub(crate) fn take_real_time_priority(priority: i32) -> bool {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives through the call; process 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) == 0 }
}
