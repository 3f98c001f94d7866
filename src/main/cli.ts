import { Command } from "commander";
import type { Clock } from "../kernel/clock.ts";
import { inWords } from "../kernel/in-words.ts";
import { MAX_LISTED_LANES } from "../kernel/limits.ts";
import { readableJson, readableText } from "../kernel/unseen.ts";
import type { Database } from "../storage/database.ts";
import type { Reader } from "../storage/engine.ts";
import { addArchiveCommands } from "./archive/commands.ts";
import { addBackupCommands } from "./backup/commands.ts";
import type { Config } from "./config.ts";
import { addDoctorCommands } from "./doctor/commands.ts";
import type { Opened, Opening } from "./open.ts";
import { addOperatorCommands } from "./operators/commands.ts";
import { plainLine } from "./plain-line.ts";
import type { RunningServer } from "./serve.ts";
import { StartProblem } from "./start-problem.ts";
import { version } from "./version.ts";

/** The command line. Only this file reads the environment. Each command loads its modules only when it runs, so that all start fast. */

const program = new Command("keystead")
  .description("Self-hosted key and wallet management.")
  .version(version)
  .showHelpAfterError();

const withConfig = (command: Command) =>
  command.option("--config <file>", "JSON file with settings; the environment overrides it");

const warn = (text: string) => void process.stderr.write(`keystead: ${text}\n`);

const withNewInstallation = (command: Command) =>
  command.option("--new-installation", "make a new installation although files of another one are there");

interface ServeCommandOptions {
  config?: string;
  newInstallation?: boolean;
}

withNewInstallation(withConfig(program.command("serve").description("Run the server."))).action(
  async ({ config: file, newInstallation = false }: ServeCommandOptions) => {
    const config = await readConfig(file);
    const { banner, serve } = await import("./serve.ts");
    const isOnTerminal = process.stdout.isTTY === true;
    const onServing = ({ close }: RunningServer) => stopOnSignals(close);
    const server = await serve({ config, newInstallation, unattended: !isOnTerminal, onServing });
    // Anything else is a log, which must not contain the link.
    if (isOnTerminal) process.stdout.write(`${banner(server, config)}\n`);
  },
);

interface InitOptions extends ServeCommandOptions {
  organizationName: string;
  userName: string;
  userEmail?: string;
  apiPublicKey?: string;
}

withNewInstallation(
  withConfig(program.command("init").description("Make a further root organization; prints its credentials as JSON.")),
)
  .option("--organization-name <name>", "name of the organization", "Organization")
  .option("--user-name <name>", "name of its root user", "Root user")
  .option("--user-email <email>", "email address of the root user")
  .option("--api-public-key <hex>", "compressed P-256 public key; without it a key pair is made and printed")
  .action(async (options: InitOptions) => {
    const config = await readConfig(options.config);
    const { apiPublicKey, newInstallation } = options;
    const publicKey = apiPublicKey === undefined ? undefined : await readPublicKey(apiPublicKey);
    const { draftRootOrganization, storeRootOrganization } = await import("./first-organization.ts");
    const { readAddress } = await import("./credentials-file.ts");
    const opening: Opening = { command: "init", ifEmpty: newInstallation ? "begin anew" : "begin" };
    await withInstallation(config, opening, async ({ database, signer }, clock) => {
      const baseUrl = config.publicUrl ?? readAddress(config.dataDir) ?? `http://${config.host}:${config.port}`;
      const draft = draftRootOrganization({ ...options, baseUrl, apiPublicKey: publicKey });
      const { organizationId } = draft;
      const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId });
      const { userEmail } = options;
      const now = clock();
      await database.transact(organizationId, (tx) =>
        storeRootOrganization(tx, draft, organizationKey, { userEmail, now }),
      );
      printJson(draft);
    });
  });

withConfig(program.command("call").description("Stamp and send one request with the credentials file."))
  .argument("<operation>", "such as whoami or create_private_keys")
  .argument("[json]", "parameters of an activity, or fields of a query", "{}")
  .option("--credentials <file>", "other credentials than those in the data directory")
  .action(async (operation: string, json: string, options: { config?: string; credentials?: string }) => {
    const config = await readConfig(options.config);
    const { call } = await import("./call.ts");
    const { ok, text } = await call({ config, operation, json, credentialsFile: options.credentials, warn });
    const shown = `${prettyIfJson(text)}\n`;
    if (ok) process.stdout.write(shown);
    else process.stderr.write(shown);
    process.exitCode = ok ? 0 : 1;
  });

const jobs = program.command("jobs").description("Look at the work that waits, and bring back what was given up.");

withConfig(jobs.command("list").description("Jobs as JSON, the dead ones unless told otherwise."))
  .option("--state <state>", "dead or waiting", "dead")
  .option("--limit <number>", "how many at most", "100")
  .action(async ({ config: file, state, limit }: { config?: string; state: string; limit: string }) => {
    if (state !== "dead" && state !== "waiting") throw new StartProblem("--state must be dead or waiting");
    if (!/^[1-9][0-9]{0,4}$/.test(limit)) throw new StartProblem("--limit must be a number from 1 to 99999");
    const { listJobs } = await import("../engine/jobs/admin.ts");
    const found = await withDatabase(await readConfig(file), ({ read }) => listJobs(read, state, Number(limit)));
    printJson(found);
  });

withConfig(jobs.command("lanes").description("The lanes in which most jobs wait, as JSON, the fullest first."))
  .option("--limit <number>", "how many at most", "20")
  .action(async ({ config: file, limit: text }: { config?: string; limit: string }) => {
    const limit = readLimit(text);
    const { listLanes } = await import("../engine/jobs/lanes.ts");
    printJson(await withDatabase(await readConfig(file), ({ read }, clock) => listLanes(read, limit, clock())));
  });

withConfig(jobs.command("retry").description("Set dead jobs back to the start: those named, or all of them."))
  .argument("[id...]", "identifiers of dead jobs")
  .option("--all", "every dead job")
  .action(async (ids: string[], { config: file, all }: { config?: string; all?: true }) => {
    if (ids.length > 0 === (all === true)) throw new StartProblem("name dead jobs by their ids, or say --all");
    const config = await readConfig(file);
    const { deadJobsAmong, retryDeadJobs } = await import("../engine/jobs/admin.ts");
    const retried = await withDatabase(config, async (database, clock) => {
      if (all) return retryDeadJobs(database, undefined, clock());
      const dead = await deadJobsAmong(database.read, ids);
      const others = ids.filter((id) => !dead.has(id));
      if (others.length > 0) {
        throw new StartProblem(
          `there is no dead job ${others.join(", ")}; nothing was changed. keystead jobs list names those that there are`,
        );
      }
      return retryDeadJobs(database, ids, clock());
    });
    printJson({ retried });
  });

const webhooks = program.command("webhooks").description("Look at the deliveries of webhooks.");

withConfig(
  webhooks
    .command("failing")
    .description("Endpoints that take nothing, as JSON, the one that has failed for longest first."),
)
  .option("--limit <number>", "how many at most", "20")
  .action(async ({ config: file, limit: text }: { config?: string; limit: string }) => {
    const limit = readLimit(text);
    const { listFailingEndpoints } = await import("../capabilities/webhooks/failing.ts");
    printJson(await withDatabase(await readConfig(file), ({ read }) => listFailingEndpoints(read, limit)));
  });

const allowlist = program.command("allowlist").description("For when an IP allowlist lets nobody in.");

withConfig(
  allowlist
    .command("remove")
    .description("Remove the IP allowlists of an organization and of its API keys; prints what they were as JSON."),
)
  .argument("<organizationId>", "identifier of a parent organization")
  .option("--reason <text>", "why; it stands in the record")
  .action(async (organizationId: string, { config: file, reason }: { config?: string; reason?: string }) => {
    const config = await readConfig(file);
    const { removeAllowlists } = await import("./operators/allowlists.ts");
    printJson(
      await withDatabase(config, (database, clock) =>
        removeAllowlists(database, { organizationId, reason }, { audit: config.audit, clock }),
      ),
    );
  });

withConfig(
  program
    .command("verify-votes")
    .description("Check every stamp of an activity with the keys that are recorded; it needs no server and no signer."),
)
  .argument("<activity>", "identifier of the activity")
  .action(async (activityId: string, { config: file }: { config?: string }) => {
    const { activityOfRow } = await import("../engine/activities/rows.ts");
    const { verifyStamps } = await import("../engine/activities/verify-stamps.ts");
    const stamps = await withDatabase(await readConfig(file), async ({ read }) => {
      const row = await read.selectFrom("activities").selectAll().where("id", "=", activityId).executeTakeFirst();
      if (!row) throw new StartProblem(await missingActivity(read, activityId));
      return verifyStamps(read, activityOfRow(row));
    });
    printJson({ activityId, stamps });
    if (stamps.some(({ verdict }) => verdict === "invalid")) process.exitCode = 1;
  });

withConfig(
  program
    .command("verify-authority")
    .description(
      "Look for rows that say who may do what and that no completed activity accounts for; it needs no server and no signer.",
    ),
)
  .option("--organization <id>", "this organization and those below it alone")
  .action(async ({ config: file, organization }: { config?: string; organization?: string }) => {
    const { verifyAuthority } = await import("./verify-authority.ts");
    const verified = await withDatabase(await readConfig(file), ({ read }) => verifyAuthority(read, organization));
    printJson(verified);
    if (verified.unaccounted.length > 0) process.exitCode = 1;
  });

withConfig(
  program
    .command("rotate")
    .description("Replace one of the installation's own keys; the old one stays published for a while."),
)
  .argument("<key>", "such as webhook; they are all named where there is none of that name")
  .action(async (name: string, { config: file }: { config?: string }) => {
    const [{ capabilities }, { houseOf }, { rotateServiceKey }] = await Promise.all([
      import("../capabilities/index.ts"),
      import("../engine/capability.ts"),
      import("../engine/keys/service-keys.ts"),
    ]);
    const { serviceKeys } = houseOf(capabilities);
    const kind = serviceKeys.find(({ purpose }) => purpose === name);
    if (kind === undefined) {
      const known = inWords(serviceKeys.map(({ purpose }) => purpose));
      throw new StartProblem(`there is no service key ${name}; known are ${known}`);
    }
    await withInstallation(await readConfig(file), { command: "rotate", ifEmpty: "refuse" }, async (opened, clock) => {
      printJson({ keyId: await rotateServiceKey(opened, kind, clock()) });
    });
  });

withConfig(
  program
    .command("backfill")
    .description("Add to histories what happened before an account, or the server, was there; no events tell of it."),
)
  .argument("<chain>", "such as eip155:1")
  .requiredOption("--from <block>", "number of the first block")
  .option("--to <block>", "number of the last block; the last final one unless said")
  .action(async (chain: string, { config: file, from, to }: { config?: string; from: string; to?: string }) => {
    const config = await readConfig(file);
    const { backfillHistory } = await import("./backfill-history.ts");
    const blocks = {
      from: readBlockNumber("--from", from),
      to: to === undefined ? undefined : readBlockNumber("--to", to),
    };
    printJson(await withDatabase(config, (database) => backfillHistory({ config, database }, chain, blocks)));
  });

const tvc = program.command("tvc").description("For those who approve deployments.");

tvc
  .command("verify")
  .description(
    "Check a manifest, or one in an envelope with approvals: prints its schema, its hash, which operators sign, and what its approvals come to. It needs no server.",
  )
  .argument("<manifest>", "file with its JSON, such as what get_tvc_deployment answers, base64 decoded")
  .action(async (file: string) => {
    const { verifyManifest } = await import("./verify-manifest.ts");
    const verified = verifyManifest(file);
    printJson(verified);
    if (verified.approvals && !verified.approvals.reached) process.exitCode = 1;
  });

const earn = program.command("earn").description("The catalog of vaults to earn in.");

withConfig(
  earn
    .command("import")
    .description(
      "Take vaults into the catalog, beside those of the configuration; each is looked at on its chain first.",
    ),
)
  .argument("<file>", "JSON: a list of {vaultAddress, chainCaip2, provider, name, curator}")
  .action(async (file: string, { config: configFile }: { config?: string }) => {
    const config = await readConfig(configFile);
    const { importEarnVaults } = await import("./import-earn-vaults.ts");
    printJson(await withDatabase(config, (database, clock) => importEarnVaults({ config, database, clock }, file)));
  });

/** The error for an unknown activity. It may have been archived; the database stores only up to which time activities were. */
async function missingActivity(read: Reader, id: string): Promise<string> {
  const [{ archivedBefore }, { isId, lowestIdAt }] = await Promise.all([
    import("../engine/activities/archived.ts"),
    import("../kernel/ids.ts"),
  ]);
  const before = await archivedBefore(read);
  if (!isId(id) || id >= lowestIdAt(before)) return `there is no activity ${id}`;
  const time = new Date(before).toISOString();
  return `there is no activity ${id} in the database; those that were submitted and ended before ${time} are in an archive: keystead verify <archive> checks every stamp in it`;
}

/** @throws StartProblem */
function readLimit(text: string): number {
  const limit = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && limit >= 1 && limit <= MAX_LISTED_LANES) return limit;
  throw new StartProblem(`--limit must be a number from 1 to ${MAX_LISTED_LANES}`);
}

function readBlockNumber(option: string, text: string): number {
  if (/^[0-9]{1,12}$/.test(text)) return Number(text);
  throw new StartProblem(`${option} must be the number of a block in digits`);
}

interface RecoverOptions {
  config?: string;
  organization: string;
  userName: string;
  apiPublicKey: string;
  reason?: string;
}

withConfig(
  program
    .command("recover")
    .description("For when nobody can act as root quorum any more: a new user becomes the root quorum, alone."),
)
  .requiredOption("--organization <id>", "identifier of the organization")
  .requiredOption("--user-name <name>", "name of the new user")
  .requiredOption("--api-public-key <hex>", "compressed P-256 public key of the new user's API key")
  .option("--reason <text>", "why; it stands in the record")
  .action(async ({ config: file, organization, userName, apiPublicKey, reason }: RecoverOptions) => {
    const config = await readConfig(file);
    const { recoverRootQuorum, requireRecoveryAllowed } = await import("./recover.ts");
    requireRecoveryAllowed(config);
    const recovery = { organizationId: organization, userName, publicKey: await readPublicKey(apiPublicKey), reason };
    printJson(
      await withDatabase(config, (database, clock) =>
        recoverRootQuorum(database, recovery, { audit: config.audit, clock }),
      ),
    );
  });

addBackupCommands(program, { withConfig, readConfig, printJson });
addArchiveCommands(program, { withConfig, readConfig, printJson, withDatabase, withInstallation });
addOperatorCommands(program, { withConfig, readConfig, printJson, withDatabase });
addDoctorCommands(program, {
  withConfig,
  readConfig,
  configFileOf: async (file) => (await import("./config.ts")).configFileOf(process.env, file),
});

async function withInstallation(
  config: Config,
  opening: Opening,
  use: (opened: Opened, clock: Clock) => Promise<void>,
): Promise<void> {
  const [{ openInstallation }, { agreedClockFor }, { createLogger }] = await Promise.all([
    import("./open.ts"),
    import("./agreed-clock.ts"),
    import("../kernel/log.ts"),
  ]);
  const opened = await openInstallation(config, createLogger("warn"), opening);
  try {
    await use(opened, await agreedClockFor(opened.database));
  } finally {
    await opened.database.close();
    await opened.signer.close();
  }
}

/** For commands that need no key, which work even if the signer cannot be opened. */
async function withDatabase<T>(config: Config, use: (database: Database, clock: Clock) => Promise<T>): Promise<T> {
  const [
    { refuseEmptyDatabase, refuseMissingDatabase },
    { openDatabaseOf, refuseOlder },
    { agreedClockFor },
    { createLogger },
  ] = await Promise.all([
    import("./new-installation.ts"),
    import("./open.ts"),
    import("./agreed-clock.ts"),
    import("../kernel/log.ts"),
  ]);
  refuseMissingDatabase(config, "refuse");
  const { database, state } = await openDatabaseOf(config, createLogger("warn"));
  try {
    if (state.isEmpty) refuseEmptyDatabase(config, "refuse");
    refuseOlder(state);
    return await use(database, await agreedClockFor(database));
  } finally {
    await database.close();
  }
}

/** @throws StartProblem */
async function readPublicKey(text: string): Promise<string> {
  const { normalizePublicKey } = await import("../crypto/public-keys.ts");
  const publicKey = normalizePublicKey("API_KEY_CURVE_P256", text);
  if (publicKey !== undefined) return publicKey;
  throw new StartProblem(
    "--api-public-key must be a compressed P-256 public key: 66 hex digits, beginning with 02 or 03",
  );
}

function printJson(value: unknown): void {
  process.stdout.write(`${readableJson(value)}\n`);
}

async function readConfig(file: string | undefined): Promise<Config> {
  const { loadConfig, secretVariables } = await import("./config.ts");
  const config = loadConfig(process.env, file);
  // Remove the secrets, so that child processes and crash reports do not contain them.
  for (const name of secretVariables) delete process.env[name];
  return config;
}

/**
 * The first signal shuts the server down gracefully, a second one immediately. An older Node forwards its signals (bin/keystead.js), and a
 * terminal or a supervisor may have sent the same signal to this process too; both together count as one.
 */
function stopOnSignals(close: () => Promise<void>): void {
  const told = new Set<"itself" | "passed on">();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, (_signal, number?: number) => {
      const way = number === undefined ? "passed on" : "itself";
      if (told.has(way)) process.exit(1);
      told.add(way);
      if (told.size > 1) return;
      close().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
  }
}

function prettyIfJson(text: string): string {
  try {
    return readableJson(JSON.parse(text));
  } catch {
    return readableText(text);
  }
}

// An error on stderr cannot be reported anywhere.
process.stderr.on("error", () => {});
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  process.stderr.write(`keystead: what the command says could not be written (${code}); what it was to do is done\n`);
  process.exitCode = 1;
});

try {
  await program.parseAsync();
} catch (error) {
  const line = plainLine(error);
  if (line === undefined) throw error;
  process.stderr.write(`keystead: ${readableText(line)}\n`);
  process.exitCode = 1;
}
