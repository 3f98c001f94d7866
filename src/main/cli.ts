import { setFlagsFromString } from "node:v8";
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
import { addRootKeyCommands } from "./root-key/commands.ts";
import type { RunningServer } from "./serve.ts";
import { StartProblem } from "./start-problem.ts";
import { version } from "./version.ts";

/** The command line. Only this file reads the environment. Each command loads its modules only when it runs, so that all start fast. */

const program = new Command("keystead")
  .description("Self-hosted key and wallet management.")
  .version(version)
  .showHelpAfterError();

const withConfig = (command: Command) =>
  command.option("--config <file>", "JSON file with settings; environment variables override it");

const warn = (text: string) => void process.stderr.write(`keystead: ${text}\n`);

const withNewInstallation = (command: Command) =>
  command.option("--new-installation", "begin a new installation even though files of another one exist");

interface ServeCommandOptions {
  config?: string;
  newInstallation?: boolean;
}

withNewInstallation(withConfig(program.command("serve").description("Run the server."))).action(
  async ({ config: file, newInstallation = false }: ServeCommandOptions) => {
    const config = await readConfig(file);
    // What V8 allocates in the old generation from the start, because it often survived there, keeps most of its request there with it.
    setFlagsFromString("--no-allocation-site-pretenuring");
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
  withConfig(
    program.command("init").description("Create another root organization and print its credentials as JSON."),
  ),
)
  .option("--organization-name <name>", "name of the organization", "Organization")
  .option("--user-name <name>", "name of its root user", "Root user")
  .option("--user-email <email>", "email address of the root user")
  .option("--api-public-key <hex>", "compressed P-256 public key; if omitted, a key pair is created and printed")
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

withConfig(
  program.command("call").description("Stamp one request with the credentials from the credentials file, and send it."),
)
  .argument("<operation>", "such as whoami or create_private_keys")
  .argument("[json]", "parameters of an activity, or fields of a query", "{}")
  .option("--credentials <file>", "a credentials file other than the one in the data directory")
  .action(async (operation: string, json: string, options: { config?: string; credentials?: string }) => {
    const config = await readConfig(options.config);
    const { call } = await import("./call.ts");
    const { ok, text } = await call({ config, operation, json, credentialsFile: options.credentials, warn });
    const shown = `${prettyIfJson(text)}\n`;
    if (ok) process.stdout.write(shown);
    else process.stderr.write(shown);
    process.exitCode = ok ? 0 : 1;
  });

const jobs = program.command("jobs").description("List the jobs that are waiting, and retry the dead ones.");

withConfig(jobs.command("list").description("List jobs as JSON, by default the dead ones."))
  .option("--state <state>", "dead or waiting", "dead")
  .option("--limit <number>", "the most to list", "100")
  .action(async ({ config: file, state, limit }: { config?: string; state: string; limit: string }) => {
    if (state !== "dead" && state !== "waiting") throw new StartProblem("--state must be dead or waiting");
    if (!/^[1-9][0-9]{0,4}$/.test(limit)) throw new StartProblem("--limit must be a number from 1 to 99999");
    const { listJobs } = await import("../engine/jobs/admin.ts");
    const most = Number(limit);
    const found = await withDatabase(await readConfig(file), ({ read }) => listJobs(read, state, most + 1));
    printJson(found.slice(0, most));
    if (found.length > most)
      warn(`there are more ${state} jobs than the ${most} that are listed; --limit lists up to 99999`);
  });

withConfig(
  jobs.command("lanes").description("List the lanes in which most jobs are waiting as JSON, the fullest first."),
)
  .option("--limit <number>", "the most to list", "20")
  .action(async ({ config: file, limit: text }: { config?: string; limit: string }) => {
    const limit = readLimit(text);
    const { listLanes } = await import("../engine/jobs/lanes.ts");
    printJson(await withDatabase(await readConfig(file), ({ read }, clock) => listLanes(read, limit, clock())));
  });

withConfig(jobs.command("retry").description("Retry dead jobs from the start: those that are named, or all of them."))
  .argument("[id...]", "IDs of dead jobs")
  .option("--all", "every dead job")
  .action(async (ids: string[], { config: file, all }: { config?: string; all?: true }) => {
    if (ids.length > 0 === (all === true)) throw new StartProblem("name dead jobs by their IDs, or use --all");
    const config = await readConfig(file);
    const { deadJobsAmong, retryDeadJobs } = await import("../engine/jobs/admin.ts");
    const retried = await withDatabase(config, async (database, clock) => {
      if (all) return retryDeadJobs(database, undefined, clock());
      const dead = await deadJobsAmong(database.read, ids);
      const others = ids.filter((id) => !dead.has(id));
      if (others.length > 0) {
        throw new StartProblem(
          `there is no dead job ${others.join(", ")}; nothing was changed. \`keystead jobs list\` lists the dead jobs`,
        );
      }
      return retryDeadJobs(database, ids, clock());
    });
    printJson({ retried });
  });

const webhooks = program.command("webhooks").description("Inspect the deliveries of webhooks.");

withConfig(
  webhooks.command("failing").description("List failing endpoints as JSON, the one that has failed for longest first."),
)
  .option("--limit <number>", "the most to list", "20")
  .action(async ({ config: file, limit: text }: { config?: string; limit: string }) => {
    const limit = readLimit(text);
    const { listFailingEndpoints } = await import("../capabilities/webhooks/failing.ts");
    printJson(await withDatabase(await readConfig(file), ({ read }) => listFailingEndpoints(read, limit)));
  });

const allowlist = program.command("allowlist").description("Remove IP allowlists if they lock everybody out.");

withConfig(
  allowlist
    .command("remove")
    .description("Remove the IP allowlists of an organization and of its API keys, and print them as JSON."),
)
  .argument("<organizationId>", "ID of a parent organization")
  .option("--reason <text>", "why; the record contains it")
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
    .description("Verify every stamp of an activity with the recorded keys. Needs neither a server nor the signer."),
)
  .argument("<activity>", "ID of the activity")
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
      "Find rows that say who may do what but that no completed activity accounts for. Needs neither a server nor the signer.",
    ),
)
  .option("--organization <id>", "check only this organization and those below it")
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
  .argument("<key>", "such as webhook; an unknown name lists them all")
  .action(async (name: string, { config: file }: { config?: string }) => {
    const [{ capabilities }, { combineManifests }, { rotateServiceKey }] = await Promise.all([
      import("../capabilities/index.ts"),
      import("../engine/capability.ts"),
      import("../engine/keys/service-keys.ts"),
    ]);
    const { serviceKeys } = combineManifests(capabilities);
    const kind = serviceKeys.find(({ purpose }) => purpose === name);
    if (kind === undefined) {
      const known = inWords(serviceKeys.map(({ purpose }) => purpose));
      throw new StartProblem(`there is no service key ${name}; the known ones are ${known}`);
    }
    await withInstallation(await readConfig(file), { command: "rotate", ifEmpty: "refuse" }, async (opened, clock) => {
      printJson({ keyId: await rotateServiceKey(opened, kind, clock()) });
    });
  });

withConfig(
  program
    .command("backfill")
    .description(
      "Add to histories what happened before an account was created or the server was started. Sends no events.",
    ),
)
  .argument("<chain>", "such as eip155:1")
  .requiredOption("--from <block>", "number of the first block")
  .option("--to <block>", "number of the last block; by default the last final one")
  .action(async (chain: string, { config: file, from, to }: { config?: string; from: string; to?: string }) => {
    const config = await readConfig(file);
    const { backfillHistory } = await import("./backfill-history.ts");
    const blocks = {
      from: readBlockNumber("--from", from),
      to: to === undefined ? undefined : readBlockNumber("--to", to),
    };
    printJson(await withDatabase(config, (database) => backfillHistory({ config, database }, chain, blocks)));
  });

const tvc = program.command("tvc").description("Verify manifests before approving deployments.");

tvc
  .command("verify")
  .description(
    "Check a manifest, by itself or in an envelope with approvals: print its schema, its hash, which operators sign, and whether its approvals suffice. Needs no server.",
  )
  .argument("<manifest>", "file with its JSON, such as the answer of get_tvc_deployment, base64-decoded")
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
      "Add vaults to the catalog, in addition to those of the configuration. Each is checked on its chain first.",
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
  return `there is no activity ${id} in the database; activities that were submitted and ended before ${time} are in an archive: \`keystead verify <archive>\` verifies every stamp in it`;
}

/** @throws StartProblem */
function readLimit(text: string): number {
  const limit = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && limit >= 1 && limit <= MAX_LISTED_LANES) return limit;
  throw new StartProblem(`--limit must be a number from 1 to ${MAX_LISTED_LANES}`);
}

function readBlockNumber(option: string, text: string): number {
  if (/^[0-9]{1,12}$/.test(text)) return Number(text);
  throw new StartProblem(`${option} must be a block number, in digits`);
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
    .description(
      "Make a new user the only member of the root quorum, for when nobody can act as root quorum any more.",
    ),
)
  .requiredOption("--organization <id>", "ID of the organization")
  .requiredOption("--user-name <name>", "name of the new user")
  .requiredOption("--api-public-key <hex>", "compressed P-256 public key of the new user's API key")
  .option("--reason <text>", "why; the record contains it")
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
addRootKeyCommands(program, { withConfig, readConfig, printJson, withDatabase });
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

// The list of commands is so long that a mistyped one could scroll out of sight above it. The commands show their own help, which is short.
program.showHelpAfterError('"keystead --help" lists the commands.');

// An error on stderr cannot be reported anywhere.
process.stderr.on("error", () => {});
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  process.stderr.write(`keystead: the output could not be written (${code}), but the command was carried out\n`);
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
