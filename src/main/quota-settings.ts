import { type Static, Type } from "typebox";
import { type QuotaName, type Quotas, quotaKinds, quotaNames, USUAL_QUOTAS } from "../authority/quotas.ts";

/** The configuration file's quotas for organizations for which an operator sets no others. */

const Figure = (name: QuotaName) => {
  const { usual, highest } = quotaKinds[name];
  const figure = Type.Integer({ minimum: 0, maximum: highest });
  return Type.Optional(usual === null ? Type.Union([figure, Type.Null()]) : figure);
};

const figures = Object.fromEntries(quotaNames.map((name) => [name, Figure(name)])) as {
  [Name in QuotaName]: ReturnType<typeof Figure>;
};

const shown = quotaNames.map((name) => {
  const { usual, highest } = quotaKinds[name];
  return `"${name}" (${usual ?? "null, which means unlimited"}; up to ${highest})`;
});

export const QuotaSetting = Type.Object(figures, {
  additionalProperties: false,
  description: `How much each organization may have, unless \`keystead organizations quota\` sets something else for it; only in the configuration file: ${shown.join(", ")}.`,
});

export const quotasOf = (given: Static<typeof QuotaSetting>): Quotas => ({ ...USUAL_QUOTAS, ...given });
