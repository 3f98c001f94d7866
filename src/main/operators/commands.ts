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
  const organizations = program
    .command("organizations")
    .description("Look at organizations, and set what one of them may have.");

  withConfig(organizations.command("list").description("Root organizations as JSON, the oldest first."))
    .option("--parent <id>", "the sub-organizations of this one instead")
    .option("--after <id>", "those behind this one in the list")
    .option("--limit <number>", "how many at most", "100")
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

  withConfig(
    organizations.command("show").description("One organization as JSON, with its quotas and what is used of them."),
  )
    .argument("<organizationId>", "identifier of the organization")
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
      .description("Set a quota of an organization, beside a running server; it is recorded as an activity."),
  )
    .argument("<organizationId>", "identifier of the organization")
    .argument("<quota>", "as `organizations show` names it, such as users")
    .argument("<figure>", "a number; default, for that of the installation; unlimited, where there need be none")
    .option("--reason <text>", "why; it stands in the record")
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

  const users = program.command("users").description("Look at users of an organization; nothing is changed.");

  withConfig(users.command("list").description("The users of an organization as JSON, the oldest first."))
    .argument("<organizationId>", "identifier of the organization")
    .action(async (organizationId: string, { config }: Options) => {
      const { listUsers } = await import("./users.ts");
      printJson(await withDatabase(await readConfig(config), ({ read }) => listUsers(read, organizationId)));
    });

  withConfig(users.command("show").description("One user as JSON, with credentials, tags and verified contacts."))
    .argument("<organizationId>", "identifier of the organization")
    .argument("<userId>", "identifier of the user")
    .action(async (organizationId: string, userId: string, { config }: Options) => {
      const { showUser } = await import("./users.ts");
      printJson(await withDatabase(await readConfig(config), ({ read }) => showUser(read, organizationId, userId)));
    });

  withConfig(program.command("instances").description("Servers that run on this database, as JSON.")).action(
    async ({ config }: Options) => {
      const { listServers } = await import("./servers.ts");
      printJson(await withDatabase(await readConfig(config), ({ read }, clock) => listServers(read, clock())));
    },
  );

  const maintenance = program
    .command("maintenance")
    .description("Have all servers of this database change nothing for a while; reads go on.");
  const command = (name: "on" | "off", description: string) =>
    withConfig(
      maintenance.command(name).description(`${description} Status 1 where a server does not say that it knows.`),
    );
  const tell = async (file: string | undefined, isOn: boolean, reason?: string) => {
    const { setMaintenance } = await import("./servers.ts");
    const told = await withDatabase(await readConfig(file), (database, clock) =>
      setMaintenance(database, { isOn, reason }, clock),
    );
    printJson(told);
    if (!told.isKnownToAll) process.exitCode = 1;
  };
  command("on", "Begin, and wait until the servers know it.")
    .option("--reason <text>", "why; clients are told")
    .action(({ config, reason }: Options & { reason?: string }) => tell(config, true, reason));
  command("off", "End it, and wait until the servers know it.").action(({ config }: Options) => tell(config, false));

  withConfig(
    program
      .command("drain")
      .description("Have a server say that it is not ready, and answer what still comes, until it is stopped."),
  )
    .argument("[instanceId]", "as `instances` names it; the one of this machine unless said")
    .action(async (id: string | undefined, { config }: Options) => {
      const { drainServer } = await import("./servers.ts");
      printJson(await withDatabase(await readConfig(config), (database, clock) => drainServer(database, id, clock)));
    });
}
