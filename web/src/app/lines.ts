// Lines of a text in a text field.

/** Selects a line, counted from 1, and brings it into view. */
export function reveal(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split("\n");
  const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
  area.scrollTop = (area.scrollHeight * Math.max(0, line - 4)) / Math.max(lines.length, 1);
}

/** The text of a file: UTF-8, UTF-16 with its mark, or code page 1252, in which Iometer on Windows writes. */
export function decoded(bytes: ArrayBuffer): string {
  const [first, second] = new Uint8Array(bytes);
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
