import { fail } from "../../kernel/errors.ts";
import { type Cidr, formatIpAddress, isWithin, parseCidr, parseIpAddress } from "../../kernel/ip-address.ts";
import { MAX_REMEMBERED_ALLOWLISTS } from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";

/** Whether a request may come from where it comes from. */

/** An allowlist that is in force, as it is stored. */
export interface Allowlist {
  /** JSON list of rules. */
  rules: string;
  /** What holds for a request whose address is not known. */
  onEvaluationError: "ALLOW" | "DENY";
}

/** The list of a credential's organization, where it is enabled, and the one for the credential itself. */
export interface Allowlists {
  ofOrganization: Allowlist | undefined;
  ofKey: Allowlist | undefined;
}

/** One entry of an allowlist as it is stored and, but for the time, shown. */
export interface AllowlistRule {
  /** In its one spelling. */
  cidr: string;
  label?: string;
  /** Milliseconds. */
  createdAt: number;
}

const NO_RULES = "[]";

/** Blocks under the JSON that they are stored as: the same text is the same list, whoever it belongs to. */
const blocksOf = recentlyUsed<readonly Cidr[]>({ entries: MAX_REMEMBERED_ALLOWLISTS });

/**
 * A key's own list, unless it is empty, stands in place of the organization's, and only while that is enabled. A list without
 * rules refuses every address, also one that is not known.
 *
 * @throws KeysteadError IP_NOT_ALLOWED
 */
export function refuseAddress(
  { ofOrganization, ofKey }: Allowlists,
  organizationId: string,
  remoteAddress: string | undefined,
): void {
  if (!ofOrganization) return;
  const { rules, onEvaluationError } = ofKey && ofKey.rules !== NO_RULES ? ofKey : ofOrganization;
  const address = remoteAddress === undefined ? undefined : parseIpAddress(remoteAddress);
  if (!address) {
    if (onEvaluationError === "ALLOW" && rules !== NO_RULES) return;
    fail("IP_NOT_ALLOWED", { address: "of the request, which is not known,", organizationId });
  }
  if (!loadBlocks(rules).some((block) => isWithin(address, block))) {
    fail("IP_NOT_ALLOWED", { address: formatIpAddress(address), organizationId });
  }
}

function loadBlocks(rules: string): readonly Cidr[] {
  const known = blocksOf.get(rules);
  if (known) return known;
  const blocks = (JSON.parse(rules) as AllowlistRule[]).map(({ cidr }) => parseCidr(cidr));
  const valid = blocks.filter((block) => !("problem" in block)) as Cidr[];
  blocksOf.set(rules, valid);
  return valid;
}
