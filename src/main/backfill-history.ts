import { backfill, findFollowed, Tracing } from "../capabilities/history/index.ts";
import { createAssetBook } from "../chains/evm/assets.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { createLogger } from "../kernel/log.ts";
import type { Chain } from "../nodes/families.ts";
import { createNodeClient } from "../nodes/node-client.ts";
import { createNodes } from "../nodes/pool.ts";
import type { Database } from "../storage/database.ts";
import { tokensOf } from "./chain-settings.ts";
import { type Config, StartProblem } from "./config.ts";

/** `keystead backfill`. It works next to a running server, and can be interrupted and run again. */

const BAR_LENGTH = 30;

export interface BackfillReport {
  from: number;
  to: number;
  /** The number of transactions of wallet accounts' addresses, including those already known. */
  transactions: number;
}

/** @throws StartProblem that names the block to continue with */
export async function backfillHistory(
  { config, database }: { config: Config; database: Database },
  chain: string,
  blocks: { from: number; to: number | undefined },
): Promise<BackfillReport> {
  const known = requireChain(config, chain);
  const followed = await findFollowed(database.read, known);
  if (!followed)
    throw new StartProblem(`no server has followed ${known} yet; first start one with the same configuration`);
  const span = { from: blocks.from, to: Math.min(blocks.to ?? followed.finalizedNumber, followed.finalizedNumber) };
  if (span.from > span.to) {
    throw new StartProblem(
      `--from must not be after the last final block, ${followed.finalizedNumber}, nor after --to`,
    );
  }
  const outbound = createNodeClient();
  const log = createLogger("error");
  const { chains, prices } = config;
  const nodes = createNodes({ chains, outbound, log });
  const assets = createAssetBook(tokensOf(chains), prices);
  const surroundings = { evm: nodes, solana: nodes, assets, log, tracing: new Tracing() };
  let reached = { next: span.from, transactions: 0 };
  try {
    for await (const progress of backfill(database, surroundings, known, span)) {
      reached = progress;
      showProgress(span, reached.next);
    }
  } catch (error) {
    if (!(error instanceof KeysteadError)) throw error;
    throw new StartProblem(`${error.message}; continue with --from ${reached.next}`);
  } finally {
    if (process.stderr.isTTY) process.stderr.write("\n");
    await outbound.close();
  }
  return { ...span, transactions: reached.transactions };
}

function requireChain({ chains }: Config, chain: string): Chain {
  if (Object.hasOwn(chains, chain)) return chain as Chain;
  const named = Object.keys(chains).join(", ") || "none";
  throw new StartProblem(`the configuration file has no nodes for ${chain}; its chains: ${named}`);
}

/** Redraws a progress bar on a terminal; shows nothing elsewhere. */
function showProgress({ from, to }: { from: number; to: number }, next: number): void {
  if (!process.stderr.isTTY) return;
  const part = (next - from) / (to - from + 1);
  const bar = "#".repeat(Math.floor(part * BAR_LENGTH)).padEnd(BAR_LENGTH, ".");
  process.stderr.write(`\r[${bar}] ${Math.floor(part * 100)} %  block ${next - 1} of ${to}`);
}
