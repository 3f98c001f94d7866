import type { Address } from "viem";
import type { EvmNode } from "./anvil.ts";
import { EARN_ASSET, EARN_CHAIN, EARN_VAULT, EARN_MAKER as MAKER, testEarnNode } from "./chain.ts";
import type { Client, Json } from "./client.ts";
import { type Contract, deployContract, mintTestToken, newCaller } from "./deployed-contracts.ts";
import { ETHER, giveEther, newEvmWallet } from "./evm-sender.ts";
import { richSponsor } from "./sponsor.ts";
import { until } from "./until.ts";

/** Vaults to earn in, and their asset, on a node of tests. */

/** On a chain that nobody has used yet. */
export async function deployEarnVault(node: EvmNode): Promise<void> {
  await giveEther(node, MAKER, 10n ** 6n * ETHER);
  await node.call("anvil_impersonateAccount", MAKER);
  const token = await deployContract(node, MAKER, "TestToken");
  await deployContract(node, MAKER, "TestVault", token.address);
}

export interface EarnWorld {
  maker: Address;
  token: Contract;
  vault: Contract;
}

/** A token and a vault of a test's own. */
export async function newEarnWorld(node: EvmNode): Promise<EarnWorld> {
  const maker = await newCaller(node);
  const token = await deployContract(node, maker, "TestToken");
  const vault = await deployContract(node, maker, "TestVault", token.address);
  return { maker, token, vault };
}

/** Gives somebody of the asset of all tests. */
export const giveAsset = (node: EvmNode, to: string, amount: bigint): Promise<void> =>
  mintTestToken(node, EARN_ASSET, to, amount);

/** What a request has come to in the end. */
export async function earnEnded(client: Client, path: string, ids: object): Promise<Json> {
  let status: Json = {};
  await until(
    async () => {
      status = await client.read(path, ids);
      return status.status !== "PENDING";
    },
    `${path} ${JSON.stringify(ids)} to end`,
  );
  return status;
}

/** A wrapper of an organization of examples. */
interface Wrapped {
  wrapperAddress: string;
  deployRequestId: string;
}

/** With what somebody of the organization has there. */
interface Deposited extends Wrapped {
  depositRequestId: string;
  depositor: string;
}

const wrapped = new Map<string, Promise<Wrapped>>();
const deposited = new Map<string, Promise<Deposited>>();

function onceFor<T>(all: Map<string, Promise<T>>, { organizationId }: Client, make: () => Promise<T>): Promise<T> {
  const known = all.get(organizationId) ?? make();
  all.set(organizationId, known);
  return known;
}

/** That of a parent organization, made when it is asked for first; it may still be on its way to its chain. */
export const earnWrapped = (baseUrl: string, parent: Client): Promise<Wrapped> =>
  onceFor(wrapped, parent, async () => parent.result("earn_deploy_wrapper", await earnTerms(baseUrl, parent)));

/** The same with a deposit of a user, whose organization is the parent or one of its sub-organizations. */
export const earnDeposited = (baseUrl: string, parent: Client, user: Client): Promise<Deposited> =>
  onceFor(deposited, user, async () => {
    const { wrapperAddress, deployRequestId } = await earnWrapped(baseUrl, parent);
    await completed(parent, "get_earn_deploy_status", { deployRequestId });
    const { addresses } = await newEvmWallet(user, testEarnNode());
    const [depositor] = addresses as [string];
    await giveAsset(testEarnNode(), depositor, 10n ** 12n);
    const parameters = { wrapperAddress, signWith: depositor, assets: String(10n ** 9n), chainCaip2: EARN_CHAIN };
    const { depositRequestId } = await user.result("earn_deposit", parameters);
    await completed(user, "get_earn_deposit_status", { depositRequestId });
    return { wrapperAddress, deployRequestId, depositRequestId, depositor };
  });

/** What a wrapper of examples is deployed with; each is another one. */
export async function earnTerms(baseUrl: string, client: Client): Promise<object> {
  const node = testEarnNode();
  await richSponsor(baseUrl, node);
  const { addresses } = await newEvmWallet(client, node);
  const [clientFeeWallet] = addresses as [string];
  return { vaultAddress: EARN_VAULT, chainCaip2: EARN_CHAIN, clientFeeBps: "2000", clientFeeWallet };
}

/** Lets the vault of all tests earn until there are fees to claim: a claim that is still on its way takes what was earned before it too. */
export async function feesToClaim(client: Client, { wrapperAddress }: Wrapped): Promise<void> {
  await until(async () => {
    await giveAsset(testEarnNode(), EARN_VAULT, 10n ** 6n);
    const { enabledVaults } = await client.read("list_earn_enabled_vaults", {});
    const shown = enabledVaults.find((one: Json) => one.wrapperAddress === wrapperAddress);
    return shown.claimableClientFee !== "0";
  }, "fees to claim");
}

async function completed(client: Client, path: string, ids: object): Promise<void> {
  const status = await earnEnded(client, path, ids);
  if (status.status !== "COMPLETED") throw new Error(`${path}: ${JSON.stringify(status)}`);
}
