//! Names of the error numbers that storage returns on Linux. Knows nothing of where they came from.

/// The symbolic name of an error number, e.g. `EIO`; `errno 200` for one that no I/O is known to return.
pub fn errno_name(errno: i32) -> String {
    // Numbers of include/uapi/asm-generic/errno-base.h and errno.h, alike on x86-64 and arm64.
    let name = match errno {
        1 => "EPERM",
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        9 => "EBADF",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        24 => "EMFILE",
        25 => "ENOTTY",
        27 => "EFBIG",
        28 => "ENOSPC",
        29 => "ESPIPE",
        30 => "EROFS",
        32 => "EPIPE",
        38 => "ENOSYS",
        52 => "EBADE",
        61 => "ENODATA",
        62 => "ETIME",
        67 => "ENOLINK",
        75 => "EOVERFLOW",
        84 => "EILSEQ",
        95 => "EOPNOTSUPP",
        103 => "ECONNABORTED",
        104 => "ECONNRESET",
        107 => "ENOTCONN",
        110 => "ETIMEDOUT",
        111 => "ECONNREFUSED",
        112 => "EHOSTDOWN",
        113 => "EHOSTUNREACH",
        116 => "ESTALE",
        117 => "EUCLEAN",
        121 => "EREMOTEIO",
        122 => "EDQUOT",
        125 => "ECANCELED",
        other => return format!("errno {other}"),
    };
    name.to_owned()
}

/// Whether an error number is of a connection whose other end closed it or is not there.
pub(crate) const fn is_of_connection(errno: i32) -> bool {
    matches!(errno, 32 | 103 | 104 | 107 | 111 | 113)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_names() {
        for (errno, expect) in [(5, "EIO"), (28, "ENOSPC"), (61, "ENODATA"), (4095, "errno 4095")] {
            assert_eq!(errno_name(errno), expect);
        }
    }
}
