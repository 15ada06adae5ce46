//! Which engines a job can name, and the words of what belongs to one of them alone.

use crate::diagnostic::nearest;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};

choice! {
    /// Which engine moves the bytes.
    Engine {
        /// fathom chooses: `io_uring` where it works, else libaio with direct I/O, else psync.
        Auto = "auto",
        /// Nothing is moved.
        Null = "null",
        /// A simulated device in virtual time.
        Sim = "sim",
        /// `pread`, `pwrite`.
        Psync = "psync",
        /// `lseek`, then `read` or `write`.
        Sync = "sync",
        /// `lseek`, then `readv` or `writev`.
        Vsync = "vsync",
        /// `preadv`, `pwritev`.
        Pvsync = "pvsync",
        /// `preadv2`, `pwritev2` with flags.
        Pvsync2 = "pvsync2",
        /// Copies from and to a mapping of the file.
        Mmap = "mmap",
        /// `fallocate` in place of writes.
        Falloc = "falloc",
        /// `ftruncate` to the offset of each write.
        Ftruncate = "ftruncate",
        /// `splice` and `vmsplice` through a pipe.
        Splice = "splice",
        /// Makes a file by each operation.
        FileCreate = "filecreate",
        /// Asks about a file by each operation.
        FileStat = "filestat",
        /// Removes a file by each operation.
        FileDelete = "filedelete",
        /// Makes a folder by each operation.
        DirCreate = "dircreate",
        /// Asks about a folder by each operation.
        DirStat = "dirstat",
        /// Removes a folder by each operation.
        DirDelete = "dirdelete",
        /// Sends to and receives from the other end of a connection.
        Net = "net",
        /// Runs a program.
        Exec = "exec",
        /// Keeps a CPU busy and moves nothing.
        Cpu = "cpuio",
        /// What carries it best here, in place of glibc's threads.
        PosixAio = "posixaio",
        /// `io_uring`.
        IoUring = "io_uring",
        /// Linux native AIO.
        Libaio = "libaio",
    }
}
choice! {
    /// What keeps a CPU busy.
    CpuWork {
        /// Nothing but looking at the clock.
        Spin = "spin",
        /// Numbers that are sorted again and again.
        Sort = "sort",
    }
}
choice! {
    /// The call that asks about a file or folder.
    StatCall {
        /// Follows links.
        Stat = "stat",
        /// Of a link itself.
        Lstat = "lstat",
        /// All that there is to know.
        Statx = "statx",
    }
}
