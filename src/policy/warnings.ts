import { rootsIn } from "./absent-roots.ts";
import { activityClass, activityClasses } from "./activities.ts";
import type { Budget } from "./budget.ts";
import type { ExpressionCache } from "./cache.ts";
import { PolicyError } from "./errors.ts";
import { canBeTrueFor } from "./matching.ts";
import type { Policy } from "./policy.ts";
import { activityParams } from "./schema.ts";
import { sizeOf, type TypedNode, typedPartsOf } from "./typed-tree.ts";

/** Warnings about policies that are valid but may not do what their author intended. A warning never rejects a policy. */

export const warningCodes = [
  "ALLOWS_EVERYTHING",
  "DENIAL_BY_TYPE",
  "DENIAL_NOT_ABOUT",
  "SOLANA_TRANSFERS_UNCOUNTED",
  "BITCOIN_FEE_NEEDS_PROOF",
  "BLOB_FEE_UNBOUNDED",
  "USERS_BY_NAME",
  "NOT_EXAMINED",
] as const;

export interface PolicyWarning {
  code: (typeof warningCodes)[number];
  message: string;
}

/** The cost, in steps, of examining a part of an expression. */
const STEPS_PER_PART = 4;

/**
 * The known pitfalls in a policy.
 *
 * @throws OutOfBudget
 */
export function warningsOf(
  { effect, condition = "", consensus = "" }: Omit<Policy, "policyId">,
  cache: ExpressionCache,
  budget: Budget,
): PolicyWarning[] {
  const allows = effect === "EFFECT_ALLOW";
  if (allows && [condition, consensus].every((text) => text === "" || text.trim() === "true")) {
    const message =
      "It allows every user of the organization everything that policies decide on. Name who in the consensus, and what in the condition.";
    return [{ code: "ALLOWS_EVERYTHING", message }];
  }
  const aboutUsers = consensusWarnings(consensus, cache, budget);
  const program = condition === "" ? undefined : cache.program(condition, "condition", budget);
  if (program === undefined || program instanceof PolicyError) return aboutUsers;
  const { tree } = program;
  budget.spend(3 * STEPS_PER_PART * sizeOf(tree));
  const paths = new Set(pathsIn(tree));
  const warnings = [
    ...aboutUsers,
    ...solanaWarnings(tree, paths, allows),
    ...bitcoinWarnings(paths, allows),
    ...blobWarnings(tree, paths, allows, budget),
  ];
  return allows ? warnings : [...warnings, ...typeWarnings(tree, budget), ...coverageWarnings(tree, budget)];
}

/** Every fact that an expression names. */
function pathsIn(node: TypedNode): string[] {
  const own = node.kind === "field" || node.kind === "param" ? [node.path] : [];
  return [...own, ...typedPartsOf(node).flatMap(pathsIn)];
}

function consensusWarnings(consensus: string, cache: ExpressionCache, budget: Budget): PolicyWarning[] {
  const program = consensus === "" ? undefined : cache.program(consensus, "consensus", budget);
  if (program === undefined || program instanceof PolicyError) return [];
  budget.spend(STEPS_PER_PART * sizeOf(program.tree));
  if (!readsNamesOfUsers(program.tree)) return [];
  const message =
    "Users may have equal names, and whoever is invited chooses their own. Name users by `id`, or give them a tag and look at `tags`.";
  return [{ code: "USERS_BY_NAME", message }];
}

/** Only users have an alias. */
const readsNamesOfUsers = (node: TypedNode): boolean =>
  (node.kind === "field" && node.name === "alias") || typedPartsOf(node).some(readsNamesOfUsers);

function bitcoinWarnings(paths: ReadonlySet<string>, allows: boolean): PolicyWarning[] {
  if (!paths.has("bitcoin.tx.fee")) return [];
  const then = allows ? "it then allows nothing" : "it then denies";
  const message = `The fee is known only where the PSBT proves the amounts of what it spends; ${then}. Have each input bring its previous transaction along (non_witness_utxo).`;
  return [{ code: "BITCOIN_FEE_NEEDS_PROOF", message }];
}

const PRICES = ["eth.tx.gas_price", "eth.tx.max_fee_per_gas"];
const BLOB_PRICE = "eth.tx.max_fee_per_blob_gas";

/** Only what is signed and not sent can carry blobs. */
function blobWarnings(tree: TypedNode, paths: ReadonlySet<string>, allows: boolean, budget: Budget): PolicyWarning[] {
  if (!PRICES.some((path) => paths.has(path)) || [BLOB_PRICE, "eth.tx.type"].some((path) => paths.has(path))) return [];
  budget.spend(TRANSACTION.length * STEPS_PER_PART * sizeOf(tree));
  if (!TRANSACTION.some((type) => canBeTrueFor(tree, type, { type: "TRANSACTION_TYPE_ETHEREUM" }))) return [];
  const remedy = allows ? "Allow only where `eth.tx.type != 'TYPE_3'`" : "Deny `eth.tx.type == 'TYPE_3'` too";
  const message = `A transaction with blobs pays for those beside its gas, and how many it has is not known. ${remedy}, or look at \`${BLOB_PRICE}\`.`;
  return [{ code: "BLOB_FEE_UNBOUNDED", message }];
}

const INSTRUCTIONS = "solana.tx.instructions";

function solanaWarnings(tree: TypedNode, paths: ReadonlySet<string>, allows: boolean): PolicyWarning[] {
  return ["transfers", "spl_transfers"].flatMap((name): PolicyWarning[] => {
    const transfers = `solana.tx.${name}`;
    if (!paths.has(transfers) || looksAtAllInstructions(tree)) return [];
    const [operator, verb] = allows ? ["==", "Allow only"] : ["!=", "Deny also"];
    const message = `Other instructions move funds too, and are no ${name}. ${verb} where \`${INSTRUCTIONS}.count() ${operator} ${transfers}.count()\`.`;
    return [{ code: "SOLANA_TRANSFERS_UNCOUNTED", message }];
  });
}

function looksAtAllInstructions(node: TypedNode): boolean {
  const isOfAll = node.kind === "count" || node.kind === "all";
  if (isOfAll && node.object.kind === "field" && node.object.path === INSTRUCTIONS) return true;
  return typedPartsOf(node).some(looksAtAllInstructions);
}

/** Kinds with the same effect: for one item and for several, or with two names. */
const ALIKE = [
  ["SIGN_RAW_PAYLOAD", "SIGN_RAW_PAYLOADS"],
  ["CREATE_POLICY", "CREATE_POLICIES"],
  ["DELETE_POLICY", "DELETE_POLICIES"],
  ["ETH_UNDELEGATE_7702", "ETH_UNDELEGATE7702"],
];

/** A denial of one version of an activity type can be circumvented with another version that has the same effect. */
function typeWarnings(tree: TypedNode, budget: Budget): PolicyWarning[] {
  const kinds = new Set(kindsIn(tree));
  const groups = new Set([...kinds].map((kind) => ALIKE.find((alike) => alike.includes(kind)) ?? [kind]));
  return [...groups].flatMap((alike): PolicyWarning[] => {
    const types = activityClasses.filter(({ kind }) => alike.includes(kind)).map(({ type }) => type);
    budget.spend(types.length * STEPS_PER_PART * sizeOf(tree));
    const denied = types.filter((type) => canBeTrueFor(tree, type));
    const others = types.filter((type) => !denied.includes(type));
    if (denied.length === 0 || others.length === 0) return [];
    const message = `It can deny ${denied.join(", ")}, and never ${others.join(", ")}, by which the same is done. Ask for \`activity.kind in ['${alike.join("', '")}']\`.`;
    return [{ code: "DENIAL_BY_TYPE", message }];
  });
}

/** The kinds of the activity types and kinds that appear as literals. */
function kindsIn(node: TypedNode): string[] {
  if (node.kind === "constant" && typeof node.value === "string") {
    return [node.value, `ACTIVITY_TYPE_${node.value}`].flatMap((type) => activityClass(type)?.kind ?? []);
  }
  return typedPartsOf(node).flatMap(kindsIn);
}

/** A way to have something signed, and the facts that policies see of it besides the key. */
interface Signing {
  what: string;
  types: readonly string[];
  /** Parameters whose values identify this way. */
  params: Readonly<Record<string, string>>;
  root: string | undefined;
}

const typesOf = (...kinds: string[]): string[] =>
  activityClasses.filter(({ kind }) => kinds.includes(kind)).map(({ type }) => type);

const RAW = typesOf("SIGN_RAW_PAYLOAD", "SIGN_RAW_PAYLOADS");
const TRANSACTION = typesOf("SIGN_TRANSACTION");

const raw = (what: string, encoding: string, root?: string): Signing => ({
  what,
  types: RAW,
  params: { encoding: `PAYLOAD_ENCODING_${encoding}` },
  root,
});
const transaction = (chain: string, root: string): Signing => ({
  what: `${chain} transactions`,
  types: TRANSACTION,
  params: { type: `TRANSACTION_TYPE_${chain.toUpperCase()}` },
  root,
});

const planned = (what: string, kinds: readonly string[], root?: string): Signing => ({
  what,
  types: typesOf(...kinds),
  params: {},
  root,
});

/** The ways in which the request itself contains what is signed. */
export const requestedSignings: readonly Signing[] = [
  raw("raw payloads", "HEXADECIMAL"),
  raw("raw payloads", "TEXT_UTF8"),
  raw("typed data", "EIP712", "eth.eip_712"),
  raw("authorizations", "EIP7702_AUTHORIZATION", "eth.eip_7702_authorization"),
  transaction("Ethereum", "eth.tx"),
  transaction("Solana", "solana.tx"),
  transaction("Tron", "tron.tx"),
  transaction("Bitcoin", "bitcoin.tx"),
  transaction("Tempo", "tempo.tx"),
];

/** All ways, including those whose plan contains what is signed. */
export const signings: readonly Signing[] = [
  ...requestedSignings,
  planned(
    "Ethereum transactions that are sent",
    ["ETH_SEND_TRANSACTION", "ETH_SEND_RAW_TRANSACTION", "ETH_UNDELEGATE_7702", "ETH_UNDELEGATE7702"],
    "eth.tx",
  ),
  planned("Solana transactions that are sent", ["SOL_SEND_TRANSACTION"], "solana.tx"),
  planned("swaps on Ethereum chains", ["EXECUTE_SWAP"]),
  planned("swaps on Solana", ["EXECUTE_SWAP"], "solana.tx"),
  planned("claims of swap fees", ["CLAIM_SWAP_FEES"]),
  planned("for Spark", [
    "SPARK_SIGN_FROST",
    "SPARK_PREPARE_TRANSFER",
    "SPARK_CLAIM_TRANSFER",
    "SPARK_PREPARE_LIGHTNING_RECEIVE",
  ]),
  planned("for Earn", ["EARN_DEPOSIT", "EARN_WITHDRAW", "EARN_DEPLOY_WRAPPER", "CLAIM_EARN_FEES"], "eth.tx"),
];

/** Kinds with the same action for policies that have nothing signed. */
export const SIGN_NOTHING = ["CREATE_SWAP_QUOTE", "EARN_SET_WRAPPER_STATE"];

/** The roots by which policies identify the signing key. */
export const keyRoots: Readonly<Record<string, readonly string[]>> = {
  "private keys": ["private_key"],
  "wallet accounts": ["wallet", "wallet_account"],
};

/** Activities that a denial does not deny because of the roots that it needs, although its type, kind or parameters do not exclude them. */
function coverageWarnings(tree: TypedNode, budget: Budget): PolicyWarning[] {
  const roots = rootsIn(tree).map((path) => path.join("."));
  const permitted = signings.flatMap(({ types, ...signing }) =>
    types
      .filter((type) => {
        budget.spend(STEPS_PER_PART * sizeOf(tree));
        return canBeTrueFor(tree, type, paramsOf(type, signing.params));
      })
      .map((type) => ({ ...signing, type })),
  );
  return roots.flatMap((root): PolicyWarning[] => {
    const left = permitted.length === 0 ? [] : [...new Set(withoutRoot(root, permitted))];
    if (left.length === 0) return [];
    const message = `It asks for ${root}, and is not about what has none: it does not deny ${left.join(", ")}.`;
    return [{ code: "DENIAL_NOT_ABOUT", message }];
  });
}

/** The given parameters that the language has for the type. */
const paramsOf = (type: string, params: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(params).filter(([name]) => Object.hasOwn(activityParams[type] ?? {}, name)));

function withoutRoot(
  root: string,
  permitted: readonly { what: string; type: string; root: string | undefined }[],
): string[] {
  const keys = Object.entries(keyRoots);
  if (keys.some(([, names]) => names.includes(root))) {
    return keys.filter(([, names]) => !names.includes(root)).map(([key]) => `signing with ${key}`);
  }
  const param = /^activity\.params\.(\w+)$/.exec(root)?.[1];
  if (param !== undefined) {
    const lacking = permitted.filter(({ type }) => !Object.hasOwn(activityParams[type] ?? {}, param));
    return lacking.map(({ type }) => type);
  }
  if (root === "activity") return [];
  return permitted.filter((signing) => signing.root !== root).map(({ what }) => `signing ${what}`);
}
