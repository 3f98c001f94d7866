import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Config } from "../config.ts";
import { StartProblem } from "../start-problem.ts";
import { version } from "../version.ts";
import { progressOn } from "./progress.ts";

export interface CommandTools {
  withConfig: (command: Command) => Command;
  readConfig: (file: string | undefined) => Promise<Config>;
  printJson: (value: unknown) => void;
}

/** The commands `backup`, `restore` and `copy`. */
export function addBackupCommands(program: Command, { withConfig, readConfig, printJson }: CommandTools): void {
  const backup = program.command("backup").description("Back up the database to a file, while the server may run.");
  withConfig(backup)
    .argument("<file>", "the file to write, which must not exist yet")
    .option("--encrypt-to <recipient>", "encrypt the backup to an age recipient: age1…")
    .action(async (file: string, { config, encryptTo }: { config?: string; encryptTo?: string }) => {
      const { databaseUrl: url } = await readConfig(config);
      const { writeBackup } = await import("../../storage/backup/write-file.ts");
      const { manifest, sha256, bytes } = await withProgress((onProgress) =>
        writeBackup({ url, file, version, recipient: encryptTo, onProgress }),
      );
      const { takenAt, schema, installationId, rootKeyId } = manifest;
      printJson({ file, bytes, sha256, takenAt, schema, installationId, rootKeyId, rows: rowsOf(manifest) });
    });

  const verify = backup
    .command("verify")
    .description("The drill: restore a backup into a scratch folder, open every sealed key, and sign on each curve.");
  withConfig(withFile(verify))
    .requiredOption(
      "--root-key <file>",
      "the root key file that belongs to the backup; set its passphrase as for the server",
    )
    .option("--scratch <folder>", "where to restore it temporarily; by default the system's temporary folder")
    .action(async (file: string, options: FileOptions & VerifyCommandOptions, command: Command) => {
      const { identity, sha256, rootKey, scratch } = options;
      // `backup` has that option too, and consumes it at any position.
      const { config } = command.optsWithGlobals<FileOptions>();
      const { rootKeyPassphrase } = await readConfig(config);
      const { verifyBackup } = await import("./verify.ts");
      const given = { file, identity: readIdentity(identity), sha256, rootKeyFile: resolve(rootKey), scratch };
      const report = await withProgress((onProgress) => verifyBackup({ ...given, rootKeyPassphrase, onProgress }));
      printJson(report);
      if (!report.ok) process.exitCode = 1;
    });

  withConfig(withFile(program.command("restore").description("Restore a backup into an empty database."))).action(
    async (file: string, { config, identity, sha256 }: FileOptions) => {
      const given = await readConfig(config);
      const { restore } = await import("./restore.ts");
      const { manifest, rootKey } = await withProgress((onProgress) =>
        restore(given, { file, identity: readIdentity(identity), sha256, onProgress }),
      );
      const { takenAt, installationId, rootKeyId } = manifest;
      if (rootKey === "missing, not checked") {
        process.stderr.write(
          `keystead: the root key file ${given.rootKeyFile} does not exist, so it could not be checked; before you start the server, put the one with the ID ${rootKeyId} there\n`,
        );
      }
      process.stderr.write(
        `keystead: what was done after ${takenAt} is lost: credentials, users and policies that were deleted or changed since then are valid again as they were. Before you let clients in, read "What a restore brings back" in docs/guide/backup.md\n`,
      );
      printJson({ restored: file, takenAt, installationId, rootKeyId, rootKey, rows: rowsOf(manifest) });
    },
  );

  program
    .command("copy")
    .description(
      "Copy a database into an empty one, of the same engine or the other. Stop the server first. If the copy is interrupted, run the command again to continue.",
    )
    .requiredOption("--from <url>", "sqlite:<file> or postgres://…")
    .requiredOption(
      "--to <url>",
      "an empty database, or one that an earlier run did not finish: sqlite:<file> or postgres://…",
    )
    .action(async ({ from, to }: { from: string; to: string }) => {
      const { copyDatabase } = await import("./copy.ts");
      const warn = (text: string) => void process.stderr.write(`keystead: ${text}\n`);
      printJson(await withProgress((onProgress) => copyDatabase({ from, to, onProgress, warn })));
    });
}

interface VerifyCommandOptions {
  rootKey: string;
  scratch?: string;
}

interface FileOptions {
  config?: string;
  identity?: string;
  sha256?: string;
}

const withFile = (command: Command): Command =>
  command
    .argument("<file>", "a backup")
    .option("--identity <file>", "the age identity file that opens an encrypted backup")
    .option("--sha256 <hex>", "the digest that was printed when it was written");

const rowsOf = ({ tables }: { tables: Readonly<Record<string, number>> }): number =>
  Object.values(tables).reduce((sum, count) => sum + count, 0);

function readIdentity(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new StartProblem(`the identity file ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Shows progress, and ends gracefully on a signal. */
export async function withProgress<T>(work: (tell: (done: number, all: number) => void) => Promise<T>): Promise<T> {
  const progress = progressOn(process.stderr);
  for (const signal of SIGNALS) process.once(signal, exitOn);
  try {
    return await work(progress.tell);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, exitOn);
    progress.end();
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Exits with the status that shells use for a signal. Unlike a signal, `exit` runs the listeners that remove files which cannot be resumed. */
const exitOn = (signal: NodeJS.Signals): never => process.exit(128 + constants.signals[signal]);
