import type { Command } from "commander";
import type { Clock } from "../../kernel/clock.ts";
import { MAX_LISTED_ORGANIZATIONS } from "../../kernel/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { CommandTools } from "../backup/commands.ts";
import type { Config } from "../config.ts";
import { StartProblem } from "../start-problem.ts";

export interface OperatorTools extends CommandTools {
  /** `clock` is the time that the database's servers use. */
  withDatabase: <T>(config: Config, use: (database: Database, clock: Clock) => Promise<T>) => Promise<T>;
}

interface Options {
  config?: string;
}

interface ListOptions extends Options {
  parent?: string;
  after?: string;
  limit: string;
}

/**
 * The commands `organizations`, `users`, `instances`, `maintenance` and `drain`, by which an operator reads and changes things without a stamp.
 * They need the database but no key.
 */
export function addOperatorCommands(program: Command, tools: OperatorTools): void {
  const { withConfig, readConfig, printJson, withDatabase } = tools;
  const organizations = program.command("organizations").description("Inspect organizations, and set their quotas.");

  withConfig(organizations.command("list").description("List root organizations as JSON, the oldest first."))
    .option("--parent <id>", "list the sub-organizations of this organization instead")
    .option("--after <id>", "start after this organization")
    .option("--limit <number>", "the most to list", "100")
    .action(async ({ config, parent: parentId, after, limit: text }: ListOptions) => {
      const limit = Number(text);
      if (!/^[0-9]{1,5}$/.test(text) || limit < 1 || limit > MAX_LISTED_ORGANIZATIONS) {
        throw new StartProblem(`--limit must be a number from 1 to ${MAX_LISTED_ORGANIZATIONS}`);
      }
      const { listOrganizations } = await import("./organizations.ts");
      printJson(
        await withDatabase(await readConfig(config), ({ read }) => listOrganizations(read, { parentId, after, limit })),
      );
    });

  withConfig(organizations.command("show").description("Show an organization as JSON, with its quotas and their use."))
    .argument("<organizationId>", "ID of the organization")
    .action(async (organizationId: string, { config }: Options) => {
      const { showOrganization } = await import("./organizations.ts");
      printJson(
        await withDatabase(await readConfig(config), ({ read }, clock) =>
          showOrganization(read, organizationId, clock()),
        ),
      );
    });

  withConfig(
    organizations
      .command("quota")
      .description("Set a quota of an organization, while the server may run. The change is recorded as an activity."),
  )
    .argument("<organizationId>", "ID of the organization")
    .argument("<quota>", "its name in `organizations show`, such as users")
    .argument("<figure>", "a number; `default`, for the installation's; or `unlimited`, for quotas that allow it")
    .option("--reason <text>", "why; the record contains it")
    .action(
      async (
        organizationId: string,
        quota: string,
        figure: string,
        { config: file, reason }: Options & { reason?: string },
      ) => {
        const { readQuotaChange, setQuota } = await import("./quotas.ts");
        const change = { organizationId, ...readQuotaChange(quota, figure), reason };
        const config = await readConfig(file);
        printJson(
          await withDatabase(config, (database, clock) => setQuota(database, change, { audit: config.audit, clock })),
        );
      },
    );

  const users = program.command("users").description("Inspect the users of an organization.");

  withConfig(users.command("list").description("List the users of an organization as JSON, the oldest first."))
    .argument("<organizationId>", "ID of the organization")
    .action(async (organizationId: string, { config }: Options) => {
      const { listUsers } = await import("./users.ts");
      printJson(await withDatabase(await readConfig(config), ({ read }) => listUsers(read, organizationId)));
    });

  withConfig(users.command("show").description("Show a user as JSON, with credentials, tags and verified contacts."))
    .argument("<organizationId>", "ID of the organization")
    .argument("<userId>", "ID of the user")
    .action(async (organizationId: string, userId: string, { config }: Options) => {
      const { showUser } = await import("./users.ts");
      printJson(await withDatabase(await readConfig(config), ({ read }) => showUser(read, organizationId, userId)));
    });

  withConfig(program.command("instances").description("List the servers that run on this database as JSON.")).action(
    async ({ config }: Options) => {
      const { listServers } = await import("./servers.ts");
      printJson(await withDatabase(await readConfig(config), ({ read }, clock) => listServers(read, clock())));
    },
  );

  const maintenance = program
    .command("maintenance")
    .description("Make all servers of this database refuse changes for a while; reads still work.");
  const command = (name: "on" | "off", description: string) =>
    withConfig(maintenance.command(name).description(`${description} Exits with 1 if a server has not confirmed it.`));
  const tell = async (file: string | undefined, isOn: boolean, reason?: string) => {
    const { setMaintenance } = await import("./servers.ts");
    const told = await withDatabase(await readConfig(file), (database, clock) =>
      setMaintenance(database, { isOn, reason }, clock),
    );
    printJson(told);
    if (!told.isKnownToAll) process.exitCode = 1;
  };
  command("on", "Begin maintenance, and wait until the servers confirm it.")
    .option("--reason <text>", "why; clients see it")
    .action(({ config, reason }: Options & { reason?: string }) => tell(config, true, reason));
  command("off", "End maintenance, and wait until the servers confirm it.").action(({ config }: Options) =>
    tell(config, false),
  );

  withConfig(
    program
      .command("drain")
      .description("Make a server report that it is not ready, while it still answers requests, until it is stopped."),
  )
    .argument("[instanceId]", "its ID in `instances`; by default, the server on this machine")
    .action(async (id: string | undefined, { config }: Options) => {
      const { drainServer } = await import("./servers.ts");
      printJson(await withDatabase(await readConfig(config), (database, clock) => drainServer(database, id, clock)));
    });
}
