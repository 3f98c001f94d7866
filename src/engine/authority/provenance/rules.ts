import { featuresAtFirst } from "../../../authority/rules/features.ts";
import type { AllowlistRule, MethodGroup } from "../../../authority/state.ts";
import { authProxyTypes } from "../../../signer/protocol.ts";
import {
  allowlistFact,
  type Fact,
  featureFact,
  interfaceFact,
  methodsText,
  mfaPolicyFact,
  policyFact,
  proxyPolicyFact,
  sessionProfileFact,
} from "./facts.ts";
import { claiming, type InOrganization, isNotGone, joined, ORGANIZATION, source, textsIn } from "./source.ts";

/** The claims of rows of policies, MFA policies and other rules. */

export const policies = source<{
  organization_id: string;
  id: string;
  effect: string;
  consensus: string;
  condition: string;
  time: string | null;
  created_at: number;
}>({
  select: `select t.organization_id, t.id, t.effect, t.consensus, t.condition, t.time, t.created_at from policies t`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, effect, consensus, condition, time, created_at: since }) {
    const what = "policies whose effect, condition, consensus or time no activity gave them";
    const part = (name: "effect" | "condition" | "consensus" | "time", value: string, asMade: Fact | undefined) => ({
      what,
      facts: [policyFact(organizationId, id, name, value), ...(asMade ? [asMade] : [])],
    });
    // Each part may have been changed since, independently of the others.
    const ofProxy = proxyPolicyFact(organizationId, since, null);
    const userId = PROXY_CONSENSUS.exec(consensus)?.[1];
    const claims = [
      isNotGone("policies", id),
      part("effect", effect, effect === "EFFECT_ALLOW" ? ofProxy : undefined),
      part("condition", condition, isOfProxies(condition) ? ofProxy : undefined),
      part("consensus", consensus, userId ? proxyPolicyFact(organizationId, since, userId) : undefined),
      part("time", time ?? "", time === null ? ofProxy : undefined),
    ];
    return { organizationId, id, since, claims, there: policyThere(organizationId, id) };
  },
});

const PROXY_CONSENSUS = /^approvers\.any\(user, user\.id == '([0-9a-f-]{36})'\)$/;
const TYPES = /^activity\.type in \['([A-Z0-9_', ]+)'\]$/;
const typesOfProxies: readonly string[] = authProxyTypes;

/** Whether a condition only holds for activities of auth proxies, which were fewer in earlier releases. */
const isOfProxies = (condition: string): boolean =>
  TYPES.exec(condition)?.[1]
    ?.split("', '")
    .every((type) => typesOfProxies.includes(type)) === true;

export const mfaPolicies = source<{
  organization_id: string;
  id: string;
  user_id: string;
  condition: string;
  required_methods: string;
  position: number;
  created_at: number;
}>({
  select: `select t.organization_id, t.id, t.user_id, t.condition, t.required_methods, t.position, t.created_at from mfa_policies t`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, user_id: userId, condition, created_at: since, ...row }) {
    const policy = { organizationId, id, userId };
    const [methods = ""] = textsIn<MethodGroup[]>(row.required_methods, (groups) => [methodsText(groups)]);
    const parts = [
      mfaPolicyFact(policy, "condition", condition),
      mfaPolicyFact(policy, "methods", methods),
      mfaPolicyFact(policy, "order", Number(row.position)),
    ];
    const what = "MFA policies whose condition, methods or order no activity gave them";
    const claims = [isNotGone("MFA policies", id), ...parts.map((fact) => ({ what, facts: [fact] }))];
    return { organizationId, id, since, claims, there: mfaPolicyThere(organizationId, id) };
  },
});

export const sessionProfiles = source<{
  organization_id: string;
  id: string;
  scope: string;
  expiration_seconds: number | null;
  created_at: number;
}>({
  select: `select t.organization_id, t.id, t.scope, t.expiration_seconds, t.created_at from session_profiles t`,
  key: ["organization_id", "id"],
  claimsOf: ({ organization_id: organizationId, id, scope, expiration_seconds: seconds, created_at: since }) =>
    claiming({ organizationId, id, since }, "session profiles that no activity made as they are", [
      sessionProfileFact(id, scope, seconds),
    ]),
});

export const allowlists = source<{
  organization_id: string;
  id: string;
  enabled: number;
  on_evaluation_error: string;
  rules: string;
  created_at: number;
  public_key: string | null;
}>({
  select: `select t.organization_id, t.id, t.enabled, t.on_evaluation_error, t.rules, t.created_at, k.public_key
    from ip_allowlists t left join api_keys k on k.organization_id = t.organization_id and k.id = t.api_key_id`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, public_key, on_evaluation_error, created_at: since, ...row }) {
    const cidrs = textsIn<AllowlistRule[]>(row.rules, (rules) => rules.map(({ cidr }) => cidr));
    const content = { enabled: row.enabled === 1, onEvaluationError: on_evaluation_error, cidrs };
    return {
      ...claiming({ organizationId, id, since }, "IP allowlists that no activity set as they are", [
        allowlistFact(organizationId, public_key ?? undefined, content),
      ]),
      there: allowlistThere(organizationId, public_key),
    };
  },
});

export const features = source<InOrganization & { name: string; value: string | null }>({
  select: `select t.organization_id, t.name, t.value, ${ORGANIZATION} ${joined("organization_features")}`,
  key: ["organization_id", "name"],
  claimsOf({ organization_id: organizationId, name, value, parent_id, organization_created_at: since }) {
    const isOfTheStart = parent_id === null && value === null && featuresAtFirst(null).includes(name);
    const what = "features that no activity switched on as they are";
    return {
      ...{ organizationId, id: name, since, there: featureThere(organizationId, name) },
      claims: isOfTheStart ? [] : [{ what, facts: [featureFact(organizationId, name, value)] }],
    };
  },
});

export const interfaces = source<{
  organization_id: string;
  id: string;
  type: string;
  lookup: string;
  interface_json: string;
  created_at: number;
}>({
  select: `select t.organization_id, t.id, t.type, t.lookup, t.interface_json, t.created_at from smart_contract_interfaces t`,
  key: ["organization_id", "id"],
  areLarge: true,
  claimsOf: ({ organization_id: organizationId, id, type, lookup, interface_json: json, created_at: since }) =>
    claiming({ organizationId, id, since }, "interfaces of contracts that no activity gave as they are", [
      interfaceFact(id, { type, lookup, json }),
    ]),
});

export const policyThere = (organizationId: string, id: string): Fact => ["there", "policy", organizationId, id];
export const mfaPolicyThere = (organizationId: string, id: string): Fact => ["there", "MFA policy", organizationId, id];
export const featureThere = (organizationId: string, name: string): Fact => ["there", "feature", organizationId, name];
export const allowlistThere = (organizationId: string, publicKey: string | null): Fact => [
  "there",
  "allowlist",
  organizationId,
  publicKey,
];
