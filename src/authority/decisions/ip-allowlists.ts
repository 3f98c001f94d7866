import { fail } from "../../kernel/errors.ts";
import { type Cidr, formatIpAddress, isWithin, parseCidr, parseIpAddress } from "../../kernel/ip-address.ts";
import { MAX_CACHED_ALLOWLIST_BYTES, MAX_CACHED_ALLOWLISTS } from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { AllowlistRule } from "../state.ts";

/** Decides whether a request may come from its address. */

/** An enabled allowlist, as stored. */
export interface AllowlistInForce {
  /** A JSON array of `AllowlistRule`. */
  rules: string;
  /** The decision for a request whose address is not known. */
  onEvaluationError: "ALLOW" | "DENY";
}

/** The list of a credential's organization, if it is enabled, and that of the credential itself. */
export interface Allowlists {
  ofOrganization: AllowlistInForce | undefined;
  ofKey: AllowlistInForce | undefined;
}

const NO_RULES = "[]";

/** Parsed blocks by their stored JSON, shared by all lists with the same text. */
const blocksOf = recentlyUsed<readonly Cidr[]>({
  entries: MAX_CACHED_ALLOWLISTS,
  bytes: MAX_CACHED_ALLOWLIST_BYTES,
  sizeOf: (_, rules) => Buffer.byteLength(rules),
});

/**
 * A key's own list, unless it is empty, replaces the organization's, and applies only while that is enabled. A list without rules refuses
 * every address, including unknown ones.
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
