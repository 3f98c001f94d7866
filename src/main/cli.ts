import { Command } from "commander";
import { capabilities } from "../capabilities/index.ts";
import { removeAllAllowlists } from "../capabilities/ip-allowlists/store.ts";
import { normalizePublicKey } from "../crypto/public-keys.ts";
import { activityOfRow } from "../engine/activities/records.ts";
import { verifyStamps } from "../engine/activities/verify-stamps.ts";
import { houseOf } from "../engine/capability.ts";
import { listJobs, retryDeadJobs } from "../engine/jobs/admin.ts";
import { rotateServiceKey } from "../engine/keys/service-keys.ts";
import { createLogger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { call } from "./call.ts";
import { type Config, loadConfig, StartProblem, secretVariables } from "./config.ts";
import { readAddress } from "./credentials-file.ts";
import { draftRootOrganization, storeRootOrganization } from "./first-organization.ts";
import { refuseEmptyDatabase, refuseMissingDatabase } from "./new-installation.ts";
import { type Opened, type Opening, openDatabaseOf, openInstallation } from "./open.ts";
import { recoverRootQuorum, requireRecoveryAllowed } from "./recover.ts";
import { banner, serve } from "./serve.ts";
import { version } from "./version.ts";

/** The command line. Only here is the environment read. */

const program = new Command("keystead")
  .description("Self-hosted key and wallet management.")
  .version(version)
  .showHelpAfterError();

const withConfig = (command: Command) =>
  command.option("--config <file>", "JSON file with settings; the environment overrides it");

const withNewInstallation = (command: Command) =>
  command.option("--new-installation", "make a new installation although files of another one are there");

interface ServeCommandOptions {
  config?: string;
  newInstallation?: boolean;
}

withNewInstallation(withConfig(program.command("serve").description("Run the server."))).action(
  async ({ config: file, newInstallation = false }: ServeCommandOptions) => {
    const config = readConfig(file);
    const server = await serve({ config, newInstallation });
    process.stdout.write(`${banner(server, config)}\n`);
    stopOnSignals(server.close);
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
    const config = readConfig(options.config);
    const { apiPublicKey, newInstallation } = options;
    const publicKey = apiPublicKey === undefined ? undefined : readPublicKey(apiPublicKey);
    const opening: Opening = { command: "init", ifEmpty: newInstallation ? "begin anew" : "begin" };
    await withInstallation(config, opening, async ({ database, signer }) => {
      const baseUrl = config.publicUrl ?? readAddress(config.dataDir) ?? `http://${config.host}:${config.port}`;
      const draft = draftRootOrganization({ ...options, baseUrl, apiPublicKey: publicKey });
      const { organizationId } = draft;
      const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId });
      const { userEmail } = options;
      const now = Date.now();
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
    const { dataDir } = readConfig(options.config);
    const { ok, text } = await call({ dataDir, operation, json, credentialsFile: options.credentials });
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
    const found = await withDatabase(readConfig(file), ({ read }) => listJobs(read, state, Number(limit)));
    printJson(found);
  });

withConfig(jobs.command("retry").description("Set dead jobs back to the start: those named, or all of them."))
  .argument("[id...]", "identifiers of dead jobs")
  .option("--all", "every dead job")
  .action(async (ids: string[], { config: file, all }: { config?: string; all?: true }) => {
    if (ids.length > 0 === (all === true)) throw new StartProblem("name dead jobs by their ids, or say --all");
    const config = readConfig(file);
    const retried = await withDatabase(config, (database) =>
      retryDeadJobs(database, all ? undefined : ids, Date.now()),
    );
    printJson({ retried });
  });

const allowlist = program.command("allowlist").description("For when an IP allowlist lets nobody in.");

withConfig(
  allowlist
    .command("remove")
    .description("Remove the IP allowlists of an organization and of its API keys; prints what they were as JSON."),
)
  .argument("<organizationId>", "identifier of a parent organization")
  .action(async (organizationId: string, { config: file }: { config?: string }) => {
    const removed = await withDatabase(readConfig(file), (database) =>
      database.transact(organizationId, async (tx) => {
        const known = await tx.selectFrom("organizations").select("id").where("id", "=", organizationId).execute();
        if (known.length === 0) throw new StartProblem(`there is no organization ${organizationId}`);
        return removeAllAllowlists(tx, organizationId);
      }),
    );
    printJson({ removed });
  });

withConfig(
  program
    .command("verify-votes")
    .description("Check every stamp of an activity with the keys that are recorded; it needs no server and no signer."),
)
  .argument("<activity>", "identifier of the activity")
  .action(async (activityId: string, { config: file }: { config?: string }) => {
    const stamps = await withDatabase(readConfig(file), async ({ read }) => {
      const row = await read.selectFrom("activities").selectAll().where("id", "=", activityId).executeTakeFirst();
      if (!row) throw new StartProblem(`there is no activity ${activityId}`);
      return verifyStamps(read, activityOfRow(row));
    });
    printJson({ activityId, stamps });
    if (stamps.some(({ verdict }) => verdict === "invalid")) process.exitCode = 1;
  });

const { serviceKeys } = houseOf(capabilities);

withConfig(
  program
    .command("rotate")
    .description("Replace one of the installation's own keys; the old one stays published for a while."),
)
  .argument("<key>", serviceKeys.map(({ purpose }) => purpose).join(" or "))
  .action(async (name: string, { config: file }: { config?: string }) => {
    const kind = serviceKeys.find(({ purpose }) => purpose === name);
    if (kind === undefined) {
      const known = serviceKeys.map(({ purpose }) => purpose).join(" and ");
      throw new StartProblem(`there is no service key ${name}; known are ${known}`);
    }
    await withInstallation(readConfig(file), { command: "rotate", ifEmpty: "refuse" }, async (opened) => {
      printJson({ keyId: await rotateServiceKey(opened, kind, Date.now()) });
    });
  });

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
    const config = readConfig(file);
    requireRecoveryAllowed(config);
    const recovery = { organizationId: organization, userName, publicKey: readPublicKey(apiPublicKey), reason };
    printJson(await withDatabase(config, (database) => recoverRootQuorum(database, recovery)));
  });

async function withInstallation(
  config: Config,
  opening: Opening,
  use: (opened: Opened) => Promise<void>,
): Promise<void> {
  const opened = await openInstallation(config, createLogger("warn"), opening);
  try {
    await use(opened);
  } finally {
    await opened.database.close();
    await opened.signer.close();
  }
}

/** For commands that need no key: they work while the signer cannot be opened. */
async function withDatabase<T>(config: Config, use: (database: Database) => Promise<T>): Promise<T> {
  refuseMissingDatabase(config, "refuse");
  const { database, state } = await openDatabaseOf(config, createLogger("warn"));
  try {
    if (state.isEmpty) refuseEmptyDatabase(config, "refuse");
    if (state.pending.length > 0) {
      throw new StartProblem(
        "the database is of an older version; start the server once, which brings it up to this one",
      );
    }
    return await use(database);
  } finally {
    await database.close();
  }
}

/** @throws StartProblem */
function readPublicKey(text: string): string {
  const publicKey = normalizePublicKey("API_KEY_CURVE_P256", text);
  if (publicKey !== undefined) return publicKey;
  throw new StartProblem(
    "--api-public-key must be a compressed P-256 public key: 66 hex digits, beginning with 02 or 03",
  );
}

const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

function readConfig(file: string | undefined): Config {
  const config = loadConfig(process.env, file);
  // Children and crash reports do not need them.
  for (const name of secretVariables) delete process.env[name];
  return config;
}

/**
 * The first signal ends the server in good order, a second one at once. An older Node passes its signals on (bin/keystead.js),
 * and a terminal or a supervisor may have sent the same one here too: told in both ways is told once.
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
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof StartProblem)) throw error;
  process.stderr.write(`keystead: ${error.message}\n`);
  process.exitCode = 1;
}
