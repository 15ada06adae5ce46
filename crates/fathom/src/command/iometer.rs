//! `fathom iometer`: Iometer's command line and configurations.

mod arguments;
mod plan;

use crate::exit::Exit;
use crate::load;
use crate::terminal;
use arguments::Arguments;
use std::path::Path;

/// What fathom says where Iometer says its version: whose behaviour it is, as scripts want to know, and who did it.
const VERSION: &str = concat!("1.1.0-fathom-", env!("CARGO_PKG_VERSION"));

/// Takes the words of Iometer's command line.
pub(crate) fn run(words: &[String]) -> Exit {
    match Arguments::read(words) {
        Err(reason) => {
            terminal::message(&format!("error: {reason}"));
            Exit::Usage
        }
        Ok(Arguments { help: true, .. }) => crate::printed(arguments::USAGE),
        Ok(Arguments { version: true, .. }) => crate::printed(&format!("{VERSION}\n")),
        Ok(arguments) => started(&arguments),
    }
}

fn started(arguments: &Arguments) -> Exit {
    let Some(file) = &arguments.configuration else {
        terminal::message("error: no configuration is named; give one with -c FILE.icf");
        return Exit::Usage;
    };
    let text = match load::read_icf(Path::new(file)) {
        Ok(text) => text,
        Err(reason) => {
            terminal::message(&format!("error: {}", crate::diagnose::printable(&reason)));
            if arguments.json {
                // What went wrong is said; that it cannot be said twice changes nothing.
                let _ = terminal::data(&plan::error(None, &reason));
            }
            return Exit::Usage;
        }
    };
    if arguments.plan {
        return plan::run(file, &text, arguments.json);
    }
    terminal::message("error: running a configuration is not built yet; --plan shows its tests");
    Exit::Unsupported
}
