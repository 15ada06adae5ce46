// Where a TOML text has its remarks and the items of its arrays, and which string in it has no end. Reads no values. Pure.

/** Places in a text: from the first to before the last. */
export interface Place {
  from: number;
  to: number;
}

/** Where a string ends that begins here, behind its last quote; null where it has no end. */
function endOfString(text: string, from: number): number | null {
  const quote = text[from] ?? "";
  const three = quote.repeat(3);
  const isLong = text.startsWith(three, from);
  for (let at = from + (isLong ? 3 : 1); at < text.length; at += 1) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (!isLong && text[at] === "\n") return null;
    else if (!isLong && text[at] === quote) return at + 1;
    else if (isLong && text.startsWith(three, at)) {
      // Up to two quotes before the last three are its own.
      let end = at + 3;
      while (end < at + 5 && text[end] === quote) end += 1;
      return end;
    }
  }
  return null;
}

const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
};

/** The remarks of a text, and where a string begins that has no end. */
function scanned(text: string): { remarks: Place[]; open: number | null } {
  const remarks: Place[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === "#") {
      remarks.push({ from: at, to: endOfLine(text, at) });
      at = endOfLine(text, at);
    } else if (text[at] === '"' || text[at] === "'") {
      const end = endOfString(text, at);
      if (end === null) return { remarks, open: at };
      at = end;
    } else at += 1;
  }
  return { remarks, open: null };
}

/** The line, counted from 1, of a string without an end; null where all have one. */
export function openString(text: string): number | null {
  const { open } = scanned(text);
  return open === null ? null : text.slice(0, open).split("\n").length;
}

/** Remarks of a text that another does not have, each as often as it is missing. */
export function lostRemarks(before: string, after: string): string[] {
  const of = (text: string) => scanned(text).remarks.map(({ from, to }) => text.slice(from, to).trimEnd());
  const left = of(after);
  return of(before).filter((remark) => {
    const at = left.indexOf(remark);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** The items of an array, the comma behind each (null behind the last where there is none), and its closing bracket. */
export interface Items {
  items: (Place & { comma: number | null })[];
  close: number;
}

/** The items of the array whose bracket opens here; null where it has no end. */
export function itemsOf(text: string, open: number): Items | null {
  const items: Items["items"] = [];
  let current: Place | null = null;
  const grown = (from: number, to: number) => (current = { from: current?.from ?? from, to });
  const ended = (comma: number | null) => {
    if (current) items.push({ ...current, comma });
    current = null;
  };
  for (let at = open + 1, depth = 1; at < text.length; ) {
    const char = text[at] ?? "";
    if (char === "#") {
      at = endOfLine(text, at);
      continue;
    }
    if (char === '"' || char === "'") {
      const end = endOfString(text, at);
      if (end === null) return null;
      grown(at, end);
      at = end;
      continue;
    }
    if ("[{".includes(char)) depth += 1;
    if ("]}".includes(char)) depth -= 1;
    if (depth === 0) {
      ended(null);
      return { items, close: at };
    }
    if (char === "," && depth === 1) {
      const last: Items["items"][number] | undefined = items.at(-1);
      // A comma may stand in a line behind that of its item.
      if (current) ended(at);
      else if (last && last.comma === null) last.comma = at;
    } else if (!/\s/.test(char)) grown(at, at + 1);
    at += 1;
  }
  return null;
}
