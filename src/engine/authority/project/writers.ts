import type { Change } from "../../../authority/changes.ts";
import type { Transactor } from "../../../storage/engine.ts";

type Kind = Change["do"];

/** Writes changes of one kind, in an organization. */
export type Writer<Of extends Kind = Kind> = (
  tx: Transactor,
  organizationId: string,
  change: Extract<Change, { do: Of }>,
) => Promise<void>;

/** By the kind of change. A file of this folder has some of them, `project.ts` puts all of them together. */
export type Writers = { readonly [Of in Kind]: Writer<Of> };
