import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Static, Type } from "typebox";
import { HOUR_MS } from "../kernel/durations.ts";
import { makeFolder } from "../kernel/make-folder.ts";

/** The configuration file's settings for running deployments. */

export const Tvc = Type.Object(
  {
    runner: Type.Optional(Type.Literal("local")),
    domain: Type.Optional(
      Type.String({ maxLength: 200, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$" }),
    ),
    qosVersions: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 50 }),
    ),
    cleanUpAfterHours: Type.Optional(Type.Number({ minimum: 0, maximum: 24 * 365 })),
    directory: Type.Optional(Type.String({ minLength: 1 })),
    firstUid: Type.Optional(Type.Integer({ minimum: 1000, maximum: 2_000_000_000 })),
  },
  {
    additionalProperties: false,
    description:
      'Deployments, only in the configuration file: {"runner": "local", "domain": "apps.example.com", "qosVersions": ["local-1"], "cleanUpAfterHours": 24, "directory": "/var/lib/keystead-programs", "firstUid": 61000}. Without "runner", this server runs no programs.',
  },
);

export interface DeploymentSettings {
  runner: "local" | undefined;
  domain: string;
  /** The newest first. */
  qosVersions: readonly [string, ...string[]];
  cleanUpAfterMs: number;
  /** Contains the programs and their working directories. */
  directory: string;
  /** If undefined, programs run as the server's own user, which is not root. */
  firstUid: number | undefined;
}

/** The start of a range that Debian and systemd do not use. */
const FIRST_UID = 60_800;
const WORLD_SEARCHABLE = 0o001;

/** `refuse` receives the problem with the setting. */
export function deploymentSettingsOf(
  given: Static<typeof Tvc>,
  { dataDir, publicUrl }: { dataDir: string; publicUrl: string | undefined },
  refuse: (problem: string) => never,
): DeploymentSettings {
  const isRoot = process.getuid?.() === 0;
  if (given.firstUid !== undefined && !isRoot) refuse("`firstUid` requires a server that runs as root");
  const domain = given.domain ?? "tvc.localhost";
  if (given.runner !== undefined && getsPasskeysOf(publicUrl, domain)) {
    refuse(
      "`domain` is the domain of `publicUrl` or below it, so pages of apps could ask for passkeys of the console; use a domain outside it",
    );
  }
  const [latest = "local-1", ...older] = given.qosVersions ?? [];
  return {
    runner: given.runner,
    domain,
    qosVersions: [latest, ...older],
    // Databases store whole milliseconds.
    cleanUpAfterMs: Math.round((given.cleanUpAfterHours ?? 24) * HOUR_MS),
    directory: resolve(given.directory ?? join(dataDir, "tvc")),
    firstUid: isRoot ? (given.firstUid ?? FIRST_UID) : undefined,
  };
}

/**
 * Whether browsers let pages below a domain use passkeys for the host of this URL. They do if the domain is below that host (WebAuthn Level 3,
 * section 5.1.3), unless the host is a top-level name such as `localhost`.
 */
function getsPasskeysOf(publicUrl: string | undefined, domain: string): boolean {
  const host = URL.parse(publicUrl ?? "")?.hostname.replace(/\.$/, "") ?? "";
  return host.includes(".") && `.${domain}`.endsWith(`.${host}`);
}

/** Creates the directory, and returns the folder in its path that other users cannot enter; undefined if there is none. */
export function prepareDirectory({ directory, firstUid }: DeploymentSettings): string | undefined {
  makeFolder(directory, 0o711);
  makeFolder(join(directory, "work"), 0o711);
  if (firstUid === undefined) return undefined;
  for (let folder = directory; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & WORLD_SEARCHABLE) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}
