import { setTimeout } from "node:timers/promises";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { DOCTOR_CHECK_MS } from "../../kernel/limits.ts";
import { createNodeClient } from "../../nodes/node-client.ts";
import { type Config, StartProblem } from "../config.ts";
import { checkAudit } from "./audit.ts";
import { checkAuthority } from "./authority.ts";
import { checkBackups } from "./backups.ts";
import { checkChains } from "./chains.ts";
import { checkDatabase, type DatabaseSeen } from "./database.ts";
import { checkFiles, checkRoom } from "./files.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { checkMail } from "./mail.ts";
import { checkPublicUrl } from "./public-url.ts";
import { checkRootKey } from "./root-key.ts";
import { safeToShow } from "./secrets.ts";

export interface Examination {
  /** @throws StartProblem */
  readConfig: () => Promise<Config>;
  configFile: string | undefined;
  clock?: Clock;
}

/** Checks everything that a server needs, without changing anything. It works whether or not a server runs. */
export async function examine({ readConfig, configFile, clock = systemClock }: Examination): Promise<Finding[]> {
  let config: Config;
  try {
    config = await readConfig();
  } catch (error) {
    if (error instanceof StartProblem) return [fail("configuration", error.message)];
    throw error;
  }
  const findings = await examineWith(config, { configFile, clock });
  return findings.map((finding) => ({ ...finding, text: safeToShow(finding.text, config) }));
}

async function examineWith(config: Config, { configFile, clock }: { configFile: string | undefined; clock: Clock }) {
  const outbound = createNodeClient();
  try {
    const files = await inTime("files", async () => [...checkFiles(config, configFile), ...checkRoom(config)]);
    let rootKey: DatabaseSeen["rootKey"] = "unknown";
    let isOfThisVersion = false;
    const database = await inTime("database", async () => {
      const seen = await checkDatabase(config, clock);
      rootKey = seen.rootKey;
      isOfThisVersion = seen.isOfThisVersion ?? false;
      return seen.findings;
    });
    const authority = isOfThisVersion ? await inTime("authority", () => checkAuthority(config)) : [];
    const others = await Promise.all([
      inTime("root key", async () => [await checkRootKey(config, rootKey)]),
      inTime("mail", async () => [await checkMail(config)]),
      inTime("chains", () => checkChains(config, outbound)),
      inTime("public URL", async () => [await checkPublicUrl(config, outbound)]),
      inTime("backup", async () => [checkBackups(config, clock)]),
      inTime("audit", () => checkAudit(config, clock)),
    ]);
    return [configurationFinding(config), ...files, ...database, ...authority, ...others.flat()];
  } finally {
    await outbound.close();
  }
}

function configurationFinding({ allowPrivateNetworks }: Config): Finding {
  if (!allowPrivateNetworks) return ok("configuration", "every setting is known and valid");
  const text = "KEYSTEAD_ALLOW_PRIVATE_NETWORKS is on, which is for development only; remove it if others can sign in";
  return warn("configuration", text);
}

/** A check that hangs or throws becomes a finding, and does not stop the other checks. */
async function inTime(check: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  const timer = new AbortController();
  const late = setTimeout(DOCTOR_CHECK_MS, undefined, { signal: timer.signal })
    .then(() => [fail(check, `there was no answer within ${DOCTOR_CHECK_MS / 1000} s`)])
    .catch(() => []);
  try {
    return await Promise.race([look(), late]);
  } catch (error) {
    return [fail(check, `it could not be checked: ${(error as Error).message}`)];
  } finally {
    timer.abort();
  }
}
