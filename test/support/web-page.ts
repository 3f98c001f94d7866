import { generateKeyPairSync, sign } from "node:crypto";
import { base58 } from "@scure/base";
import { indexedDB } from "fake-indexeddb";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createAuthenticator, type SoftwareAuthenticator } from "./authenticator.ts";

/** What a page in a browser has, for published clients that are written for one and know no other place to run. */

/** A wallet in the browser, as pages find it. */
export interface BrowserWallet {
  name: string;
  address: string;
}

export interface WebPage {
  /** A wallet with a key of its own, announced as EIP-6963 says. */
  addEthereumWallet(): BrowserWallet;
  /** A wallet with a key of its own, registered as the Wallet Standard says. */
  addSolanaWallet(): BrowserWallet;
  /** The passkeys that were made on this page. */
  passkeys: readonly SoftwareAuthenticator[];
  /** Forgets what clients keep between visits, except for their keys, which nothing points at any more. */
  forget(): void;
}

let opened: WebPage | undefined;

/** The page of this process: clients look at what it has once, when they are loaded. It is gone with the process. */
export function openWebPage(origin: string): WebPage {
  opened ??= open(origin);
  return opened;
}

function open(origin: string): WebPage {
  const { hostname } = new URL(origin);
  const stored = new Map<string, string>();
  const localStorage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  };
  const events = new EventTarget();
  const window = Object.assign(events, { localStorage, location: { origin, hostname }, PublicKeyCredential: class {} });
  const passkeys: SoftwareAuthenticator[] = [];
  const globals = { window, document: {}, localStorage, indexedDB };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  Object.defineProperty(navigator, "credentials", { value: credentials(origin, passkeys), configurable: true });
  return {
    addEthereumWallet: () => addEthereumWallet(events),
    addSolanaWallet: () => addSolanaWallet(events),
    passkeys,
    forget: () => stored.clear(),
  };
}

let wallets = 0;
const nameOfWallet = (): string => `Wallet ${++wallets}`;

function addEthereumWallet(window: EventTarget): BrowserWallet {
  const account = privateKeyToAccount(generatePrivateKey());
  const name = nameOfWallet();
  const answers: Record<string, (params: string[]) => unknown> = {
    eth_accounts: () => [account.address],
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => "0x1",
    personal_sign: ([message = ""]) => account.signMessage({ message }),
  };
  const provider = {
    request: async ({ method, params = [] }: { method: string; params?: string[] }) => {
      const answer = answers[method];
      if (!answer) throw new Error(`the wallet does not know ${method}`);
      return answer(params);
    },
  };
  const detail = { provider, info: { uuid: name, name, icon: "data:,", rdns: `example.${name}` } };
  window.addEventListener("eip6963:requestProvider", () => {
    window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  });
  return { name, address: account.address };
}

function addSolanaWallet(window: EventTarget): BrowserWallet {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x as string, "base64url");
  const name = nameOfWallet();
  const chains = ["solana:mainnet"];
  const account = { address: base58.encode(bytes), publicKey: bytes, chains, features: ["solana:signMessage"] };
  const accounts: object[] = [];
  const wallet = {
    version: "1.0.0",
    name,
    icon: "data:,",
    chains,
    accounts,
    features: {
      "standard:connect": { version: "1.0.0", connect: async () => void accounts.splice(0, accounts.length, account) },
      "solana:signMessage": {
        version: "1.0.0",
        signMessage: async ({ message }: { message: Uint8Array }) => [{ signature: sign(null, message, privateKey) }],
      },
    },
  };
  type Registry = { register(wallet: object): void };
  const register = ({ register: add }: Registry) => add(wallet);
  window.addEventListener("wallet-standard:app-ready", (event) => register((event as CustomEvent<Registry>).detail));
  window.dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: register }));
  return { name, address: account.address };
}

interface CreationOptions {
  publicKey: { challenge: ArrayBuffer; rp: { id?: string } };
}

interface RequestOptions {
  publicKey: { challenge: Uint8Array; rpId: string; allowCredentials: { id: Uint8Array }[] };
}

/** `navigator.credentials`: passkeys in software, the newest of which is offered unless the page asks for certain ones. */
function credentials(origin: string, passkeys: SoftwareAuthenticator[]) {
  const { hostname } = new URL(origin);
  const credential = (id: string, response: object) => ({
    type: "public-key",
    id,
    rawId: Buffer.from(id, "base64url"),
    response,
    getClientExtensionResults: () => ({}),
  });
  return {
    create: async ({ publicKey: { challenge, rp } }: CreationOptions) => {
      const passkey = createAuthenticator();
      passkeys.push(passkey);
      const made = passkey.attest({ challenge: new Uint8Array(challenge), origin, rpId: rp.id ?? hostname });
      return credential(passkey.credentialId, {
        clientDataJSON: Buffer.from(made.clientDataJson, "base64url"),
        attestationObject: Buffer.from(made.attestationObject, "base64url"),
        getTransports: () => ["internal"],
      });
    },
    get: async ({ publicKey: { challenge, rpId, allowCredentials } }: RequestOptions) => {
      const allowed = allowCredentials.map(({ id }) => Buffer.from(id).toString("base64url"));
      const passkey = passkeys.findLast(({ credentialId }) => allowed.length === 0 || allowed.includes(credentialId));
      if (!passkey) throw new Error("The operation either timed out or was not allowed.");
      const made = passkey.answer({ challenge, origin, rpId });
      return credential(passkey.credentialId, {
        clientDataJSON: Buffer.from(made.clientDataJson, "base64url"),
        authenticatorData: Buffer.from(made.authenticatorData, "base64url"),
        signature: Buffer.from(made.signature, "base64url"),
        userHandle: null,
      });
    },
  };
}
