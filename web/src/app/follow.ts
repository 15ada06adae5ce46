// A run's events from the server, as they come: a lost connection is taken up again where it broke, also where nobody says
// that it is lost. Works in a page and in a worker; knows nothing of views.
//
// A network that changes or a server that stands still leaves a connection open that brings nothing any more. Silence alone
// does not tell: a run that measures says something in each of its intervals, which may be long, and nothing while it pauses
// or writes out a large file; and what keeps such a connection open is not shown to scripts. So a stream that is silent is
// given up for another after its last event, which misses nothing: only where that one is not answered the connection is
// lost. To ask for something else would not do, since that may go by another way than the stream.

/** Kinds of events, each of which has a name of its own in the stream. */
const kinds = [
  ...["run_started", "step_started", "interval", "figures", "targets", "host", "note", "step_finished", "run_finished"],
  ...["preparing", "gap"],
];

/**
 * Length of a turn of the watch. Turns are counted and no clock is read: a tab in the background, whose timers are held
 * back, and a machine that has slept are slower to suspect anything, and never quicker.
 */
const turn_ms = 1000;
/** Turns without an event after which there is another stream: a few of the intervals that runs have by default. */
const silentMax = 5;
/** Turns that an answer is waited for: a machine under the load that it measures, or a packet that is sent a third time. */
const unansweredMax = 10;

/** What is told of a run. */
export type Told =
  | { kind: "event"; id: number; data: string }
  /** Whether events come, or a lost connection is waited for. */
  | { kind: "up"; isUp: boolean }
  /** The run is over: no more will come. */
  | { kind: "over"; isStored: boolean };

/** Follows a run after one of its events, until the function that is given back is called. */
export function follow(url: string, from: number, tell: (told: Told) => void): () => void {
  let last = from;
  let isUp: boolean | null = null;
  /** Since the stream said something, or was asked for. */
  let turns = 0;
  let source = open();
  const watch = setInterval(turn, turn_ms);

  function told(up: boolean): void {
    if (isUp !== up) tell({ kind: "up", isUp: (isUp = up) });
  }

  function end(): void {
    clearInterval(watch);
    source.close();
  }

  function turn(): void {
    const isOpen = source.readyState === EventSource.OPEN;
    turns += 1;
    if (turns < (isOpen ? silentMax : unansweredMax)) return;
    turns = 0;
    source.close();
    source = open();
    if (!isOpen) told(false);
  }

  function open(): EventSource {
    const opened = new EventSource(last > 0 ? `${url}?last_event_id=${last}` : url);
    opened.onopen = () => {
      turns = 0;
      told(true);
    };
    opened.onerror = () => {
      turns = 0;
      // The browser asks again by itself, and after the last event; unless it was told that there is nothing.
      if (opened.readyState !== EventSource.CLOSED) return told(false);
      end();
      tell({ kind: "over", isStored: true });
    };
    for (const kind of kinds) {
      opened.addEventListener(kind, (message: MessageEvent<string>) => {
        turns = 0;
        const id = Number(message.lastEventId);
        last = Math.max(last, id);
        tell({ kind: "event", id, data: message.data });
        if (kind !== "run_finished") return;
        end();
        tell({ kind: "over", isStored: false });
      });
    }
    return opened;
  }

  return end;
}
