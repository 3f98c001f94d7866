import { Command } from "commander";
import { normalizePublicKey } from "../crypto/public-keys.ts";
import { createLogger } from "../kernel/log.ts";
import { call } from "./call.ts";
import { type Config, loadConfig, StartProblem } from "./config.ts";
import { draftRootOrganization, storeRootOrganization } from "./first-organization.ts";
import { openInstallation } from "./open.ts";
import { banner, serve } from "./serve.ts";
import { version } from "./version.ts";

/** The command line. Only here is the environment read. */

const program = new Command("keystead")
  .description("Self-hosted key and wallet management.")
  .version(version)
  .showHelpAfterError();

const withConfig = (command: Command) =>
  command.option("--config <file>", "JSON file with settings; the environment overrides it");

withConfig(program.command("serve").description("Run the server.")).action(
  async ({ config: file }: { config?: string }) => {
    const config = readConfig(file);
    const server = await serve({ config });
    process.stdout.write(`${banner(server, config)}\n`);
    stopOnSignals(server.close);
  },
);

interface InitOptions {
  config?: string;
  organizationName: string;
  userName: string;
  userEmail?: string;
  apiPublicKey?: string;
}

withConfig(program.command("init").description("Make a further root organization; prints its credentials as JSON."))
  .option("--organization-name <name>", "name of the organization", "Organization")
  .option("--user-name <name>", "name of its root user", "Root user")
  .option("--user-email <email>", "email address of the root user")
  .option("--api-public-key <hex>", "compressed P-256 public key; without it a key pair is made and printed")
  .action(async (options: InitOptions) => {
    const config = readConfig(options.config);
    const { apiPublicKey } = options;
    const publicKey = apiPublicKey === undefined ? undefined : normalizePublicKey("API_KEY_CURVE_P256", apiPublicKey);
    if (apiPublicKey !== undefined && publicKey === undefined) {
      throw new StartProblem(
        "--api-public-key must be a compressed P-256 public key: 66 hex digits, beginning with 02 or 03",
      );
    }
    const { database, signer } = await openInstallation(config, createLogger("warn"));
    try {
      const baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`;
      const draft = draftRootOrganization({ ...options, baseUrl, apiPublicKey: publicKey });
      const { organizationId } = draft;
      const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId });
      const { userEmail } = options;
      const now = Date.now();
      await database.transact(organizationId, (tx) =>
        storeRootOrganization(tx, draft, organizationKey, { userEmail, now }),
      );
      process.stdout.write(`${JSON.stringify(draft, null, 2)}\n`);
    } finally {
      await database.close();
      await signer.close();
    }
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

function readConfig(file: string | undefined): Config {
  const config = loadConfig(process.env, file);
  // Children and crash reports do not need it.
  delete process.env.KEYSTEAD_ROOT_KEY_PASSPHRASE;
  return config;
}

function stopOnSignals(close: () => Promise<void>): void {
  let stopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stopping = true;
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
