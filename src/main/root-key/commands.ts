import type { Command } from "commander";
import { withProgress } from "../backup/commands.ts";
import type { OperatorTools } from "../operators/commands.ts";
import { StartProblem } from "../start-problem.ts";

interface Options {
  config?: string;
}

/** The command `root-key`: its file, the passphrase of the file, and the rotation of the key. */
export function addRootKeyCommands(program: Command, tools: OperatorTools): void {
  const { withConfig, readConfig, printJson, withDatabase } = tools;
  const rootKey = program.command("root-key").description("Show, protect and rotate the root key.");

  withConfig(
    rootKey
      .command("show")
      .description("Show as JSON the root keys of the file, of the database and of the running servers, by their IDs."),
  ).action(async ({ config: file }: Options) => {
    const config = await readConfig(file);
    const { showRootKeys } = await import("./show.ts");
    printJson(await withDatabase(config, (database, clock) => showRootKeys(config, database, clock)));
  });

  withConfig(
    rootKey
      .command("passphrase")
      .description("Protect the root key file with a new passphrase, or with none. The root key stays the same."),
  )
    .option("--new-file <file>", "the file that contains the new passphrase")
    .option("--none", "store the root key in plain form")
    .action(async ({ config: file, newFile, none }: Options & { newFile?: string; none?: true }) => {
      if ((newFile === undefined) === (none === undefined)) {
        throw new StartProblem("give the new passphrase with --new-file, or use --none");
      }
      const [{ readNewPassphrase }, { protectRootKeyFile }] = await Promise.all([
        import("../config.ts"),
        import("./file.ts"),
      ]);
      const passphrase = newFile === undefined ? undefined : readNewPassphrase(newFile);
      printJson(await protectRootKeyFile(await readConfig(file), passphrase));
    });

  withConfig(
    rootKey
      .command("add")
      .description("Add a new root key to the file. It is not used before `keystead root-key rotate`."),
  ).action(async ({ config: file }: Options) => {
    const { addRootKey } = await import("./file.ts");
    printJson(await addRootKey(await readConfig(file)));
  });

  withConfig(
    rootKey
      .command("rotate")
      .description("Seal the keys of all organizations with the new root key of the file, while servers run."),
  ).action(async ({ config: file }: Options) => {
    const config = await readConfig(file);
    const { rotateRootKey } = await import("./rotate.ts");
    const rotated = await withDatabase(config, (database, clock) =>
      withProgress((onProgress) => rotateRootKey({ config, database, clock, onProgress })),
    );
    printJson(rotated);
    if (rotated.unopened.length > 0) process.exitCode = 1;
  });

  withConfig(
    rootKey
      .command("retire")
      .description(
        "Remove the previous root key from the file, if nothing in the database is sealed with it any more.",
      ),
  ).action(async ({ config: file }: Options) => {
    const config = await readConfig(file);
    const { retireRootKey } = await import("./file.ts");
    printJson(
      await withDatabase(config, (database) =>
        withProgress((onProgress) => retireRootKey(config, database, onProgress)),
      ),
    );
  });
}
