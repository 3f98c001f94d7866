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
        "Check all that a server needs; it changes nothing, and needs no server. Status 1 where a check fails.",
      ),
  )
    .option("--json", "as JSON")
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
        "Ask the server of this machine how it is. Status 0 when ready, 2 when not, 3 where none runs, 4 where it answers nothing.",
      ),
  )
    .option("--json", "as JSON")
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
