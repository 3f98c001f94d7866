import type { Change } from "../../../authority/changes.ts";
import type { Transactor } from "../../../storage/engine.ts";

type Kind = Change["do"];

/** Writes changes of one kind, in an organization. */
export type Writer<Of extends Kind = Kind> = (
  tx: Transactor,
  organizationId: string,
  change: Extract<Change, { do: Of }>,
) => Promise<void>;

/** Writers by kind of change. Each file of this folder has some of them; `project.ts` combines all. */
export type Writers = { readonly [Of in Kind]: Writer<Of> };
