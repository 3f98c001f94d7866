/** How one side of a scenario did: medians over the rounds. */
export interface Side {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU seconds per 1,000 requests: the server with its signer ... */
  serverCpu: number;
  /** ... and the database's own processes; undefined where the database is part of the server. */
  databaseCpu: number | undefined;
  /** Cores that processes outside the benchmark kept busy; the more, the less the figures say. */
  otherCores: number;
  /** Whether the prepared requests ran out in some round, which then is shorter. */
  ranOut: boolean;
}

export interface ScenarioReport {
  engine: string;
  scenario: string;
  product: Side;
  floor: Side;
  /** The floor that older results were held against. */
  bare: Side;
}

export interface Machine {
  postgresVersion: string | undefined;
}

export interface Conditions extends Machine {
  seconds: number;
  rounds: number;
  connections: number;
  cores: number;
  commit: string;
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits));
const ratioOf = (product: Side, floor: Side): number => round(product.perSecond / floor.perSecond, 2);

/** One line for programs. */
export function jsonLine(report: ScenarioReport): string {
  const { engine, scenario, product, floor, bare } = report;
  return JSON.stringify({
    engine,
    scenario,
    perSecond: round(product.perSecond, 0),
    floor: round(floor.perSecond, 0),
    ratio: ratioOf(product, floor),
    p50Ms: round(product.p50Ms, 1),
    p99Ms: round(product.p99Ms, 1),
    bareFloor: round(bare.perSecond, 0),
    bareRatio: ratioOf(product, bare),
  });
}

const GROUPS = ["", "", "", "", "", "bare", "", "ms", "", "floor ms", "", "CPU", "", "floor CPU", "", "others"];
const HEADS =
  "engine scenario req/s floor ratio floor ratio p50 p99 p50 p99 server database server database cores".split(" ");

/** For people. CPU is in seconds per 1,000 requests. */
export function table(reports: readonly ScenarioReport[], conditions: Conditions): string {
  const { seconds, rounds, connections, cores, commit, postgresVersion } = conditions;
  const versions = [
    `Node ${process.versions.node}`,
    `SQLite ${process.versions.sqlite}`,
    ...(postgresVersion === undefined ? [] : [`PostgreSQL ${postgresVersion}`]),
  ];
  const lines = [
    `${commit}; ${versions.join(", ")}; ${cores} cores of ${process.arch}`,
    `medians of ${rounds} rounds of ${seconds} s, ${connections} connections; CPU in seconds per 1,000 requests`,
    "",
    ...align([GROUPS, HEADS, ...reports.map(row)]),
  ];
  if (reports.some(({ product, floor, bare }) => product.ranOut || floor.ranOut || bare.ranOut)) {
    lines.push("", "* the prepared requests ran out before the time was up in some rounds");
  }
  return `${lines.join("\n")}\n`;
}

function row(report: ScenarioReport): string[] {
  const { engine, scenario, product, floor, bare } = report;
  const rate = ({ perSecond, ranOut }: Side) => `${perSecond.toFixed(0)}${ranOut ? "*" : ""}`;
  const latencies = ({ p50Ms, p99Ms }: Side) => [p50Ms.toFixed(1), p99Ms.toFixed(1)];
  const cpu = ({ serverCpu, databaseCpu }: Side) => [serverCpu.toFixed(2), databaseCpu?.toFixed(2) ?? "-"];
  return [
    engine,
    scenario,
    rate(product),
    rate(floor),
    ratioOf(product, floor).toFixed(2),
    rate(bare),
    ratioOf(product, bare).toFixed(2),
    ...latencies(product),
    ...latencies(floor),
    ...cpu(product),
    ...cpu(floor),
    Math.max(0, product.otherCores, floor.otherCores).toFixed(1),
  ];
}

function align(rows: readonly (readonly string[])[]): string[] {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((cells) => cells[i]?.length ?? 0)));
  const pad = (cell: string, i: number) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0));
  return rows.map((cells) => cells.map(pad).join("  ").trimEnd());
}
