//! Log pages of `NVMe` controllers, by the kernel's pass-through of admin commands. Knows how to ask, not what the pages say.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `_IOWR('N', 0x41, struct nvme_admin_cmd)` (`linux/nvme_ioctl.h`).
const ADMIN_COMMAND: libc::c_ulong = 0xc048_4e41;
/// Get Log Page (`NVMe` base specification 2.0, 5.16).
const GET_LOG_PAGE: u8 = 0x02;
/// All namespaces: the page of the controller.
const ALL_NAMESPACES: u32 = u32::MAX;
/// The kernel's own patience (a minute). A shorter one is no way to give up: the kernel resets a controller that exceeds it.
const PATIENCE_MS: u32 = 0;

/// `struct nvme_admin_cmd` (`linux/nvme_ioctl.h`).
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// The first 512 bytes of a log page of the controller behind a namespace's node.
///
/// # Errors
/// It is no `NVMe` device, the caller may not send commands, or the controller refuses the page.
pub fn nvme_log_page(device: &File, page: u8) -> io::Result<[u8; 512]> {
    let mut data = [0_u8; 512];
    let dwords = u32::try_from(data.len() / 4 - 1).expect("the page is short");
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        address: data.as_mut_ptr() as u64,
        data_length: 512,
        dwords_10_15: [u32::from(page) | dwords << 16, 0, 0, 0, 0, 0],
        timeout_ms: PATIENCE_MS,
        ..AdminCommand::default()
    };
    // SAFETY: the command and the 512 bytes it names are there, and not used otherwise, for the whole call.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), ADMIN_COMMAND, &raw mut command) };
    match status {
        0 => Ok(data),
        // A status of the controller (`NVMe` base specification 2.0, 4.5).
        1.. => Err(io::Error::other(format!("the controller answers with status {status:#x}"))),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_laid_out_as_the_kernel_has_it() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        assert_eq!(std::mem::offset_of!(AdminCommand, address), 24);
        assert_eq!(std::mem::offset_of!(AdminCommand, dwords_10_15), 40);
        // The size is in the number of the request.
        assert_eq!(usize::try_from(ADMIN_COMMAND >> 16 & 0x3fff).expect("it is small"), 72);
    }

    #[test]
    fn what_is_no_controller_has_no_log_pages() {
        let file = tempfile::tempfile().expect("a temporary file can be made");
        let refused = nvme_log_page(&file, 2).expect_err("a file has none");
        assert_eq!(refused.raw_os_error(), Some(libc::ENOTTY));
    }
}
