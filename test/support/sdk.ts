import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { TurnkeyClient } from "@turnkey/http";
import { Turnkey } from "@turnkey/sdk-server";
import { operations } from "../../src/capabilities/index.ts";
import type { StampingKey } from "../../src/crypto/make-stamp.ts";
import type { Operation } from "../../src/engine/operations.ts";
import type { Json } from "./client.ts";

/** One published SDK behind one shape, so that both are led through the same story. */
export interface Sdk {
  /** Whether it has a method for the operation of this path. */
  knows(path: string): boolean;
  /** Resolves to the activity, and to the result as the SDK hands it out. */
  submit(path: string, parameters: object): Promise<{ activity: Json; result: Json }>;
  read(path: string, fields?: object): Promise<Json>;
}

export interface SdkOptions {
  baseUrl: string;
  organizationId: string;
  key: StampingKey;
}

type Method = (input: object) => Promise<Json>;

/** `@turnkey/http` with `@turnkey/api-key-stamper`: the caller writes the whole body. */
export function httpSdk({ baseUrl, organizationId, key }: SdkOptions): Sdk {
  const stamper = new ApiKeyStamper({ apiPublicKey: key.publicKey, apiPrivateKey: key.privateKey });
  const methods = new TurnkeyClient({ baseUrl }, stamper) as unknown as Record<string, Method>;
  return {
    knows: (path) => methodName(path) in methods,
    async submit(path, parameters) {
      const body = { type: typeOf(path), timestampMs: String(Date.now()), organizationId, parameters };
      const { activity } = await call(methods, path, body);
      return { activity, result: Object.values(activity.result)[0] ?? {} };
    },
    read: (path, fields = {}) => call(methods, path, { organizationId, ...fields }),
  };
}

/** `@turnkey/sdk-server`: it writes the body, waits for the activity and spreads the result. */
/** The client of the server SDK, as its users make it. */
export const apiClientOf = ({ baseUrl, organizationId, key }: SdkOptions, more: object = {}) =>
  new Turnkey({
    apiBaseUrl: baseUrl,
    apiPublicKey: key.publicKey,
    apiPrivateKey: key.privateKey,
    defaultOrganizationId: organizationId,
    ...more,
  }).apiClient();

export function serverSdk(options: SdkOptions): Sdk {
  const activityPoller = { intervalMs: 1, numRetries: 0 };
  const methods = apiClientOf(options, { activityPoller }) as unknown as Record<string, Method>;
  return {
    knows: (path) => methodName(path) in methods,
    async submit(path, parameters) {
      const { activity, ...result } = await call(methods, path, parameters);
      return { activity, result };
    },
    read: (path, fields = {}) => call(methods, path, fields),
  };
}

function call(methods: Record<string, Method>, path: string, input: object): Promise<Json> {
  const method = methods[methodName(path)];
  if (!method) throw new Error(`the SDK has no method for ${path}`);
  return method(input);
}

const irregular: Record<string, string> = {
  whoami: "getWhoami",
  list_users: "getUsers",
  list_private_keys: "getPrivateKeys",
  list_activities: "getActivities",
  list_policies: "getPolicies",
  list_wallets: "getWallets",
  list_wallet_accounts: "getWalletAccounts",
  list_suborgs: "getSubOrgIds",
  list_verified_suborgs: "getVerifiedSubOrgIds",
  list_app_proofs: "getAppProofs",
  get_onramp_transaction_status: "getOnRampTransactionStatus",
  list_smart_contract_interfaces: "getSmartContractInterfaces",
  list_tvc_apps: "getTvcApps",
  list_tvc_app_deployments: "getTvcAppDeployments",
  list_tvc_operators: "getTvcOperators",
  list_tvc_quorum_keys: "getTvcQuorumKeys",
  set_tvc_app_live_deployment: "updateTvcAppLiveDeployment",
};

const methodName = (path: string): string =>
  irregular[path] ?? path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The methods of `@turnkey/http` for operations that are not here; beside each method there is one that only stamps. */
export function methodsNotServed(): string[] {
  const stamper = new ApiKeyStamper({ apiPublicKey: "", apiPrivateKey: "" });
  const methods = new TurnkeyClient({ baseUrl: "http://127.0.0.1" }, stamper);
  const served = new Set(operations.map(({ path }) => methodName(path)));
  const isMethod = (name: string) => `stamp${name.charAt(0).toUpperCase()}${name.slice(1)}` in methods;
  return Object.keys(methods).filter((name) => isMethod(name) && !served.has(name));
}

/** The activity type that a caller of `@turnkey/http` writes: the newest. */
function typeOf(path: string): string {
  const operation = operations.find((one) => one.path === path) as Exclude<Operation, { kind: "query" }>;
  return operation.kind === "vote" ? operation.type : ([...operation.versions.keys()][0] as string);
}
