import type { Progress } from "../../storage/backup/write-file.ts";

const WIDTH = 30;

/** A progress bar on a terminal; elsewhere one line for each tenth, to keep logs readable. */
export function progressOn(stream: NodeJS.WriteStream): { tell: Progress; end(): void } {
  let shown = -1;
  const bar: Progress = (done, all) => {
    const percent = percentOf(done, all);
    if (percent === shown) return;
    shown = percent;
    const full = Math.round((WIDTH * percent) / 100);
    stream.write(`\r[${"#".repeat(full)}${" ".repeat(WIDTH - full)}] ${percent} %, ${done} of ${all} rows`);
  };
  const lines: Progress = (done, all) => {
    const tenth = Math.floor(percentOf(done, all) / 10) * 10;
    if (tenth <= shown) return;
    shown = tenth;
    stream.write(`${tenth} %, ${done} of ${all} rows\n`);
  };
  return {
    tell: stream.isTTY ? bar : lines,
    end: () => {
      if (stream.isTTY && shown >= 0) stream.write("\n");
    },
  };
}

const percentOf = (done: number, all: number): number => (all === 0 ? 100 : Math.floor((100 * done) / all));
