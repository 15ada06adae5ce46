//! `fathom runs`: what is in the store.

use crate::cli::RunsArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use fathom_report::visible;
use fathom_store::Summary;
use serde_json::json;

pub(crate) fn run(args: &RunsArgs) -> Exit {
    let folder = store_folder(args.store.as_ref());
    let runs = match fathom_store::list(&folder) {
        Ok(runs) => runs,
        Err(error) => {
            terminal::message(&format!("error: {error}"));
            return Exit::Target;
        }
    };
    let text = if args.json { as_json(&runs) } else { as_text(&runs) };
    if runs.is_empty() {
        terminal::message(&format!("no runs in {}", folder.display()));
    }
    crate::printed(&text)
}

fn as_json(runs: &[Summary]) -> String {
    let runs: Vec<_> = runs
        .iter()
        .map(|Summary { id, path, title, tags, wall_ms, state, steps, duration }| {
            json!({
                "run": id,
                "path": path,
                "title": title,
                "tags": tags,
                "started_ms": wall_ms,
                "state": state.word(),
                "reason": state.unread_because(),
                "steps": steps,
                "duration_ns": duration.0,
            })
        })
        .collect();
    serde_json::to_string_pretty(&runs).expect("runs have only string keys") + "\n"
}

fn as_text(runs: &[Summary]) -> String {
    let mut text = String::new();
    for Summary { id, path: _, title, tags, wall_ms, state, steps, duration } in runs {
        if let Some(reason) = state.unread_because() {
            let (id, reason) = (visible(id), visible(reason));
            text += &format!("{id:<26}  {:<23}  {:<11}  {reason}\n", "–", state.word());
            continue;
        }
        let tags = if tags.is_empty() { String::new() } else { format!("  [{}]", tags.join(", ")) };
        text += &format!(
            "{id}  {}  {:<11}  {steps:>3} {}  {:>10}  {}{}\n",
            wall_ms.map(fathom_report::calendar::date_time).unwrap_or_default(),
            state.word(),
            if *steps == 1 { "step " } else { "steps" },
            duration.approximate(),
            visible(title),
            visible(&tags),
        );
    }
    text
}
