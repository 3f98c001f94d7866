import type { Command } from "commander";
import { readableJson } from "../../kernel/unseen.ts";
import type { CommandTools } from "../backup/commands.ts";
import type { Finding } from "./finding.ts";

export interface DoctorTools extends Pick<CommandTools, "withConfig" | "readConfig"> {
  /** The configuration file that is read, if there is one. */
  configFileOf: (given: string | undefined) => Promise<string | undefined>;
}

interface Options {
  config?: string;
  json?: true;
}

/** `doctor` and `status`. */
export function addDoctorCommands(program: Command, { withConfig, readConfig, configFileOf }: DoctorTools): void {
  withConfig(
    program
      .command("doctor")
      .description(
        "Check everything that a server needs, whether or not one runs. Changes nothing. Exits with 1 if a check fails.",
      ),
  )
    .option("--json", "print JSON")
    .action(async ({ config: file, json }: Options) => {
      const { examine } = await import("./doctor.ts");
      const configFile = await configFileOf(file);
      const findings = await examine({ readConfig: () => readConfig(file), configFile });
      const isWell = findings.every(({ state }) => state !== "fail");
      await end(json ? jsonOf({ ok: isWell, checks: findings }) : findings.map(lineOf).join(""), isWell ? 0 : 1);
    });

  withConfig(
    program
      .command("status")
      .description(
        "Show the status of the server on this machine. Exits with 0 if it is ready, 2 if not, 3 if none runs, and 4 if it does not answer.",
      ),
  )
    .option("--json", "print JSON")
    .action(async ({ config: file, json }: Options) => {
      const config = await readConfig(file);
      const { describeStatus, exitCodes, statusOf } = await import("../status.ts");
      const status = await statusOf(config);
      await end(json ? jsonOf(status) : describeStatus(status), exitCodes[status.state]);
    });
}

const lineOf = ({ state, check, text }: Finding): string => `${state.padEnd(4)}  ${check}: ${text}\n`;

const jsonOf = (value: unknown): string => `${readableJson(value)}\n`;

/** Exits immediately, even if a connection that hangs is still open. */
async function end(text: string, code: number): Promise<never> {
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  process.exit(code);
}
