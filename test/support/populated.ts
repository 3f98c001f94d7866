import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { quorumKeyEncrypt } from "@turnkey/crypto";
import type { Json } from "./client.ts";
import { newDeployment, newOperator } from "./deployments.ts";
import { bodyOf, exampleRequests, kindFor } from "./examples.ts";
import { registryOfTests } from "./registry.ts";
import type { TestServer } from "./server.ts";
import { createWorld } from "./world.ts";

/** Operations whose examples leave something in every kind of row that holds a sealed value, and in many others. */
const REQUESTS = [
  ...["create_private_keys", "create_private_key_tag", "create_wallet", "create_wallet_accounts", "import_wallet"],
  ...["import_private_key", "import_secrets", "create_oauth2_credential", "create_fiat_on_ramp_credential"],
  ...["enable_auth_proxy", "init_otp", "init_otp_auth", "init_import_private_key", "init_import_wallet"],
  ...["create_sub_organization", "delete_sub_organization", "create_users", "create_authenticators"],
  ...["create_policies", "create_mfa_policy", "create_session_profile", "create_smart_contract_interface"],
  ...["create_webhook_endpoint", "create_invitations", "sign_raw_payload", "create_read_only_session"],
];

/** Has the examples of many operations carried out, each in an organization of its own. */
export async function populate(server: TestServer): Promise<void> {
  for (const path of REQUESTS) {
    const request = exampleRequests.find(({ name }) => name === path);
    assert.ok(request, path);
    const world = await createWorld(server, kindFor(request.operation));
    const fields = await request.example(world);
    const { client } = world.root;
    const answer = await client.post(request.url, JSON.stringify(bodyOf(request, client, fields)));
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
  }
  await deployWithPullSecret(server);
}

/** A deployment whose image is fetched with a name and a password. */
async function deployWithPullSecret(server: TestServer): Promise<void> {
  const { serviceKeys } = (await (await fetch(`${server.baseUrl}/.well-known/keystead.json`)).json()) as Json;
  const { host } = await registryOfTests();
  const secret = { auths: { [host]: { username: "puller", password: "a password" } } };
  const target = Buffer.from(serviceKeys.tvcPullSecret[0].publicKey, "hex");
  const encrypted = await quorumKeyEncrypt(target, Buffer.from(JSON.stringify(secret)));
  const pivotContainerEncryptedPullSecret = Buffer.from(encrypted).toString("hex");
  const { client } = (await createWorld(server)).root;
  await newDeployment(client, [newOperator()], { deployment: { pivotContainerEncryptedPullSecret } });
}

/** What an operator carries to another machine beside the backup. */
export function carryFiles(from: string, to: string): void {
  for (const name of ["root.key", "credentials.json"]) copyFileSync(join(from, name), join(to, name));
}
