import { registerPasskey, stampWithPasskey } from "./passkey.js";

/** Signs up through the auth proxy, and creates a wallet with an activity that the passkey stamps. */

/** Awaited only where it is used, so that the forms have their listeners even if somebody is fast. */
const settings = fetch("settings.json").then((response) => response.json());

/** Who signed up in this browser: `{userName, organizationId, credentialId}`. None of it is secret. */
const REMEMBERED = "signed up";
const remembered = () => JSON.parse(localStorage.getItem(REMEMBERED) ?? "null");

/** Creates an organization with one user, whose only credential is a new passkey. */
async function signUp(userName) {
  const { configId } = await settings;
  const authenticator = await registerPasskey(userName);
  const { organizationId } = await post(
    "/v1/signup_v2",
    JSON.stringify({ userName, apiKeys: [], authenticators: [authenticator], oauthProviders: [] }),
    { "X-Auth-Proxy-Config-Id": configId },
  );
  return { userName, organizationId, credentialId: authenticator.attestation.credentialId };
}

/** Submits an activity that the user stamps, and returns its result. */
async function submit(path, parameters, { organizationId, credentialId }) {
  const body = JSON.stringify({
    type: `ACTIVITY_TYPE_${path.toUpperCase()}`,
    timestampMs: String(Date.now()),
    organizationId,
    parameters,
  });
  const stamp = await stampWithPasskey(body, credentialId);
  const { activity } = await post(`/public/v1/submit/${path}`, body, { "X-Stamp-Webauthn": stamp });
  return activity.result;
}

async function makeWallet(user) {
  const account = {
    curve: "CURVE_SECP256K1",
    pathFormat: "PATH_FORMAT_BIP32",
    path: "m/44'/60'/0'/0/0",
    addressFormat: "ADDRESS_FORMAT_ETHEREUM",
  };
  const walletName = `Wallet of ${new Date().toISOString()}`;
  const { createWalletResult } = await submit("create_wallet", { walletName, accounts: [account] }, user);
  return createWalletResult.addresses[0];
}

async function post(path, body, headers) {
  const { service } = await settings;
  const response = await fetch(`${service}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body,
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

const element = (id) => document.getElementById(id);

function show() {
  const user = remembered();
  element("sign-up").hidden = user !== null;
  element("make-wallet").hidden = user === null;
  element("who").textContent = user?.userName ?? "";
}

/** Runs a form's action, one at a time, and shows the outcome. */
function onSubmit(id, act) {
  const form = element(id);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    element("outcome").value = "";
    element("problem").value = "";
    try {
      element("outcome").value = await act(new FormData(form));
    } catch (error) {
      element("problem").value = error.message;
    } finally {
      button.disabled = false;
      show();
    }
  });
}

onSubmit("sign-up", async (fields) => {
  const user = await signUp(fields.get("userName"));
  localStorage.setItem(REMEMBERED, JSON.stringify(user));
  return `Organization ${user.organizationId}`;
});
onSubmit("make-wallet", async () => `Address ${await makeWallet(remembered())}`);
show();
