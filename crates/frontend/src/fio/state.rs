//! fio's states of verification: the small file that fio 3.33 leaves when a job that wrote verified data ends, and that
//! `verify_state_load` reads. Pure; who writes it and when is decided elsewhere.

/// Version of the format: that of fio 3.33.
const VERSION: u64 = 3;
/// Version, length and checksum, 8 bytes each.
const HEAD_BYTES: usize = 24;
/// Bytes of one job before the places of its last writes.
const JOB_BYTES: usize = 152;
/// Where a job's name lies in these, and the longest there is.
const NAME_AT: usize = 88;
const NAME_BYTES: usize = 64;
/// Where fio keeps the state of a generator, fathom has none; in a part of it that fio does not look at: this word, and behind it
/// how many writes had finished, which fio does not know.
const FINISHED_AT: usize = 64;
const FINISHED_MARK: [u8; 8] = *b"finished";
/// Bytes of a place: file and offset.
const PLACE_BYTES: usize = 16;

/// What one job had written when it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyState {
    /// Name of the job.
    pub name: String,
    /// Its place among all jobs of the run, from 0.
    pub index: u64,
    /// Writes it kept in flight.
    pub depth: u32,
    /// Files it wrote to.
    pub files: u32,
    /// Writes it issued.
    pub writes: u64,
    /// Writes that finished, from the first up to one that did not; 0: not known, as in fio's own files.
    pub finished: u64,
    /// File and offset of those that finished last, at most as many as were in flight, the latest first.
    pub last: Vec<(u64, u64)>,
}

/// Name of the state of a job; `thread_number` is its number over the whole run, from 1. A job's name may hold slashes.
pub fn file_name(aux_path: &str, job: &str, thread_number: usize) -> String {
    let folder = if aux_path.is_empty() { String::new() } else { format!("{aux_path}/") };
    format!("{folder}local-{}-{}-verify.state", job.replace('/', "."), thread_number.saturating_sub(1))
}

impl VerifyState {
    /// Reads a file's content; the error says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let (head, body) = bytes.split_at_checked(HEAD_BYTES).ok_or("it is too short for a state")?;
        let (version, length, crc) = (u64_at(head, 0), u64_at(head, 8), u64_at(head, 16));
        if version != VERSION {
            return Err(format!("it is of version {version}; that of fio 3.33 is {VERSION}"));
        }
        if length != body.len() as u64 || body.len() < JOB_BYTES {
            return Err("its length is not what it says".to_owned());
        }
        if crc != u64::from(crc_of(body)) {
            return Err("its checksum does not match".to_owned());
        }
        let (job, places) = body.split_at(JOB_BYTES);
        let name = &job[NAME_AT..NAME_AT + NAME_BYTES];
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
        let narrow = |at| u32::from_le_bytes(array(&job[at..]));
        // fio leaves room for as many as there could be.
        let listed = usize::try_from(u64_at(job, 0)).unwrap_or(usize::MAX);
        let places =
            places.chunks_exact(PLACE_BYTES).take(listed).map(|place| (u64_at(place, 0), u64_at(place, 8)));
        Ok(Self {
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            depth: narrow(8),
            files: narrow(12),
            writes: u64_at(job, 16),
            index: u64_at(job, 24),
            finished: if job[FINISHED_AT - 8..FINISHED_AT] == FINISHED_MARK {
                u64_at(job, FINISHED_AT)
            } else {
                0
            },
            last: places.collect(),
        })
    }

    /// The file's content.
    pub fn write(&self) -> Vec<u8> {
        let Self { name, index, depth, files, writes, finished, last } = self;
        let mut job = vec![0; JOB_BYTES];
        job[..8].copy_from_slice(&(last.len() as u64).to_le_bytes());
        job[8..12].copy_from_slice(&depth.to_le_bytes());
        job[12..16].copy_from_slice(&files.to_le_bytes());
        job[16..24].copy_from_slice(&writes.to_le_bytes());
        job[24..32].copy_from_slice(&index.to_le_bytes());
        if *finished > 0 {
            job[FINISHED_AT - 8..FINISHED_AT].copy_from_slice(&FINISHED_MARK);
            job[FINISHED_AT..FINISHED_AT + 8].copy_from_slice(&finished.to_le_bytes());
        }
        let length = name.len().min(NAME_BYTES - 1);
        job[NAME_AT..NAME_AT + length].copy_from_slice(&name.as_bytes()[..length]);
        for (file, offset) in last {
            job.extend_from_slice(&file.to_le_bytes());
            job.extend_from_slice(&offset.to_le_bytes());
        }
        let head = [VERSION, job.len() as u64, u64::from(crc_of(&job))];
        let mut bytes: Vec<u8> = head.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(job);
        bytes
    }

    /// Writes that are known to be there, from the first. Of fio's own files, those that cannot have been in flight, or all of one
    /// file where there were fewer than the queue is deep: it has as many places then as writes had finished. Of those that may have
    /// been, where their places in the only file are known (`place_of`, by their number), those up to the first that is not listed, as
    /// fio goes by (`verify_state_should_stop`).
    pub fn known_writes(&self, place_of: Option<&dyn Fn(u64) -> u64>) -> u64 {
        let certain = match (self.finished, self.depth) {
            // Stopped by a signal, fio 3.33 may do its last write out of turn, in the file of the one before.
            (0, 1) if self.files == 1 => self.writes.min(if self.last.is_empty() { 0 } else { u64::MAX }),
            (0, depth)
                if self.writes < u64::from(depth)
                    && self.files == 1
                    && self.last.len() as u64 == self.writes =>
            {
                self.writes
            }
            (0, depth) => self.writes.saturating_sub(u64::from(depth)),
            (finished, _) => return finished,
        };
        let Some(place_of) = place_of.filter(|_| self.files == 1) else { return certain };
        let is_listed = |number: &u64| self.last.contains(&(0, place_of(*number)));
        // No more than are listed, whatever a file says of its depth.
        certain + (certain..self.writes).take(self.last.len()).take_while(is_listed).count() as u64
    }
}

/// CRC-32C as fio has it: started from all ones, not inverted at the end.
fn crc_of(data: &[u8]) -> u32 {
    !crc_fast::crc32_iscsi(data)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(&bytes[at..]))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("cut to the length")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state that fio 3.33 left of `--name=job --size=64k --bs=4k --rw=write --number_ios=5 --verify=crc32c`.
    const FIO: &str =
        "0300000000000000a800000000000000eb760a660000000001000000000000000100000001000000050000";

    fn fio() -> Vec<u8> {
        let head = (0..FIO.len()).step_by(2).filter_map(|at| u8::from_str_radix(&FIO[at..at + 2], 16).ok());
        let mut bytes: Vec<u8> = head.collect();
        bytes.resize(HEAD_BYTES + JOB_BYTES + PLACE_BYTES, 0);
        bytes[0x70..0x73].copy_from_slice(b"job");
        bytes[0xb9] = 0x40;
        bytes
    }

    #[test]
    fn fios_own_state_is_read() {
        let state = VerifyState::read(&fio()).unwrap();
        let expect = VerifyState {
            name: "job".to_owned(),
            index: 0,
            depth: 1,
            files: 1,
            writes: 5,
            finished: 0,
            last: vec![(0, 0x4000)],
        };
        assert_eq!(state, expect);
        assert_eq!(state.known_writes(None), 5);
        assert_eq!(state.write(), fio());
        assert_eq!(VerifyState { depth: 4, ..state.clone() }.known_writes(None), 1);
        let last = vec![(0, 0); 5];
        assert_eq!(VerifyState { depth: 32, last: last.clone(), ..state.clone() }.known_writes(None), 5);
        assert_eq!(
            VerifyState { depth: 32, writes: 6, last: last.clone(), ..state.clone() }.known_writes(None),
            0
        );
        // Of several files the last may be anywhere.
        let two = |depth, last| VerifyState { depth, last, files: 2, ..state.clone() }.known_writes(None);
        assert_eq!([two(1, vec![(0, 0), (1, 0)]), two(32, [last.clone(), last].concat())], [4, 0]);
        // The queue is as deep as all that was written, and of that the third is not listed: or the first, or none.
        let place = |number: u64| 0x1000 + number * 0x1000;
        let of = |numbers: &[u64]| {
            let last = numbers.iter().map(|&number| (0, place(number))).collect();
            VerifyState { depth: 5, last, ..state.clone() }.known_writes(Some(&place))
        };
        assert_eq!([of(&[4, 0, 3, 1, 0]), of(&[4, 3, 2, 1]), of(&[2, 1, 0, 4, 3])], [2, 0, 5]);
        // A file that nobody wrote: its places are at the end of all numbers, where each is that of all.
        let (writes, last) = (u64::MAX, vec![(0, u64::MAX)]);
        let hostile = VerifyState { depth: u32::MAX, writes, last, ..state.clone() };
        assert_eq!(hostile.known_writes(Some(&|_| u64::MAX)), u64::MAX - u64::from(u32::MAX) + 1);
        let last = vec![(0, place(3)), (0, place(4)), (0, place(0))];
        assert_eq!(VerifyState { depth: 2, last, ..state.clone() }.known_writes(Some(&place)), 5);
        let finished = VerifyState { finished: 3, depth: 4, index: 7, ..state.clone() };
        assert_eq!(finished.known_writes(None), 3);
        assert_eq!(VerifyState::read(&finished.write()), Ok(finished));
        // Of a job that is not the first, too, fio's does not say how many had finished.
        let second = VerifyState { index: 1, ..state };
        assert_eq!(VerifyState::read(&second.write()), Ok(second.clone()));
        assert_eq!(second.known_writes(None), 5);
    }

    #[test]
    fn slashes_of_a_name_make_no_folders() {
        assert_eq!(file_name("aux", "a/b", 3), "aux/local-a.b-2-verify.state");
    }

    #[test]
    fn damaged_states_are_refused() {
        for (at, what) in [(0, "version"), (8, "length"), (16, "checksum"), (60, "checksum")] {
            let mut bytes = fio();
            bytes[at] ^= 1;
            let reason = VerifyState::read(&bytes).unwrap_err();
            assert!(reason.contains(what), "{at}: {reason}");
        }
        for length in [0, 20, 30, HEAD_BYTES + JOB_BYTES - 1] {
            assert!(VerifyState::read(&fio()[..length]).is_err(), "{length}");
        }
    }
}
