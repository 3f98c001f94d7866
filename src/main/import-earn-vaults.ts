import { readFileSync } from "node:fs";
import { Compile } from "typebox/compile";
import { importVaults } from "../capabilities/earn/index.ts";
import type { EarnEntry } from "../capabilities/earn/services.ts";
import type { Clock } from "../kernel/clock.ts";
import { createLogger } from "../kernel/log.ts";
import { createNodeClient } from "../nodes/node-client.ts";
import { createNodes } from "../nodes/pool.ts";
import type { Database } from "../storage/database.ts";
import { type Config, StartProblem } from "./config.ts";
import { VaultEntries, vaultEntriesOf } from "./earn-settings.ts";

/** `keystead earn import`. It works next to a running server, which sees the imported vaults immediately. */

const entriesOf = Compile(VaultEntries);

export interface ImportReport {
  imported: number;
  /** The number of vaults in the catalog, without those in the configuration. */
  vaults: number;
}

/** @throws StartProblem naming the file or the invalid entry; nothing is stored then */
export async function importEarnVaults(
  { config, database, clock }: { config: Config; database: Database; clock: Clock },
  file: string,
): Promise<ImportReport> {
  const entries = readEntries(file);
  const outbound = createNodeClient();
  const evm = createNodes({ chains: config.chains, outbound, log: createLogger("error") });
  try {
    const vaults = await importVaults(
      { evm, read: database.read, transact: (run) => database.transact("earn catalog", run) },
      entries,
      clock(),
      (index, problem) => {
        throw new StartProblem(`nothing was imported from ${file}: vault ${index}, ${problem}`);
      },
    );
    return { imported: entries.length, vaults };
  } finally {
    await outbound.close();
  }
}

function readEntries(file: string): EarnEntry[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartProblem(`${file} ${code ? `cannot be read (${code})` : "is not valid JSON"}`);
  }
  if (!entriesOf.Check(content)) {
    const [problem] = entriesOf.Errors(content);
    const place = problem?.instancePath ? ` at ${problem.instancePath}` : "";
    throw new StartProblem(
      `${file} must contain a list of vaults {vaultAddress, chainCaip2, provider, name, curator}:${place} ${problem?.message}`,
    );
  }
  return vaultEntriesOf(content, (index, problem) => {
    throw new StartProblem(`${file}: vault ${index} ${problem}`);
  });
}
