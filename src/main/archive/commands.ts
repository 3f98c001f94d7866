import type { Command } from "commander";
import { withProgress } from "../backup/commands.ts";
import type { Config } from "../config.ts";
import type { Opened, Opening } from "../open.ts";
import type { OperatorTools } from "../operators/commands.ts";
import { StartProblem } from "../start-problem.ts";

interface ArchiveTools extends OperatorTools {
  withInstallation: (config: Config, opening: Opening, use: (opened: Opened) => Promise<void>) => Promise<void>;
}

/** The commands `archive` and `verify`. */
export function addArchiveCommands(
  program: Command,
  { withConfig, readConfig, printJson, withDatabase, withInstallation }: ArchiveTools,
): void {
  withConfig(
    program
      .command("archive")
      .description("Move old activities from the database into a signed, compressed file, while the server may run."),
  )
    .argument(
      "<file>",
      "the file to write; if it exists, the command finishes what an earlier run with the same arguments began",
    )
    .requiredOption(
      "--before <date>",
      "archive activities that were submitted and ended before this time: 2025-01-01, in UTC, or RFC 3339",
    )
    .action(async (file: string, { config, before }: { config?: string; before: string }) => {
      const options = { file, before: readDate(before), now: Date.now() };
      const [{ archive }, { lockArchives }] = await Promise.all([import("./archive.ts"), import("./lock.ts")]);
      const settings = await readConfig(config);
      await withInstallation(settings, { command: "archive", ifEmpty: "refuse" }, async (opened) => {
        const lock = await lockArchives(settings.databaseUrl);
        try {
          printJson(await withProgress((onProgress) => archive(opened, { ...options, onProgress })));
        } finally {
          await lock.release();
        }
      });
    });

  withConfig(
    program
      .command("verify")
      .description("Verify an archive: its digest, its signature, and every stamp of every activity in it."),
  )
    .argument("<file>", "an archive")
    .option(
      "--key <hex>",
      "the public key that it is signed with, as in `serviceKeys.archive` of /.well-known/keystead.json; by default, it is read from the database",
    )
    .action(async (file: string, { config, key }: { config?: string; key?: string }) => {
      const { archiveKeysOf, verifyArchive } = await import("./verify.ts");
      const trusted =
        key === undefined
          ? await withDatabase(await readConfig(config), ({ read }) => archiveKeysOf(read))
          : [readPublicKey(key)];
      const report = await verifyArchive(file, trusted);
      printJson(report);
      if (!report.ok) process.exitCode = 1;
    });
}

const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** @throws StartProblem */
export function readDate(text: string): number {
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN;
  // `Date.parse` would treat 30 February as a day in March.
  const day = Date.parse(text.slice(0, "2025-01-01".length));
  const isReal = !Number.isNaN(day) && text.startsWith(new Date(day).toISOString().slice(0, "2025-01-01".length));
  if (isReal && !Number.isNaN(time) && time > 0) return time;
  throw new StartProblem("--before must be a date, such as 2025-01-01, or a time in the form of RFC 3339");
}

function readPublicKey(text: string): string {
  if (/^0[23][0-9a-f]{64}$/.test(text)) return text;
  throw new StartProblem("--key must be a compressed P-256 public key: 66 hex digits, beginning with 02 or 03");
}
