import { Ed25519PublicKey as AptosPublicKey } from "@aptos-labs/ts-sdk";
import * as ecc from "@bitcoinerlab/secp256k1";
import { encodeSparkAddress } from "@buildonspark/spark-sdk";
import { encodeSecp256k1Pubkey, pubkeyToAddress } from "@cosmjs/amino";
import { Ed25519PublicKey as SuiPublicKey } from "@mysten/sui/keypairs/ed25519";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { getAddressFromPublicKey } from "@solana/kit";
import { StrKey } from "@stellar/stellar-base";
import { WalletContractV3R2, WalletContractV4, WalletContractV5R1 } from "@ton/ton";
import { initEccLib, type Network, networks, payments, toXOnly } from "bitcoinjs-lib";
import { computeAddress } from "ethers";
import { deriveAddress as rippleAddress } from "ripple-keypairs";
import { utils as tron } from "tronweb";
import { publicKeyToAddress } from "viem/accounts";
import type { Curve } from "./keys.ts";

initEccLib(ecc);

type Derive = (publicKey: Uint8Array) => string | undefined | Promise<string>;
export interface Chain {
  readonly library: string;
  readonly formats: Record<string, Partial<Record<Curve, Derive>>>;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const uncompressed = (curve: typeof secp256k1 | typeof p256, publicKey: Uint8Array): Uint8Array =>
  curve.Point.fromBytes(publicKey).toBytes(false);

const secp = (derive: Derive) => ({ CURVE_SECP256K1: derive });
const edwards = (derive: Derive) => ({ CURVE_ED25519: derive });

function bitcoin(name: string, network: Network): Chain["formats"] {
  const prefix = `BITCOIN_${name}`;
  return {
    [`${prefix}_P2PKH`]: secp((pubkey) => payments.p2pkh({ pubkey, network }).address),
    [`${prefix}_P2SH`]: secp(
      (pubkey) => payments.p2sh({ redeem: payments.p2wpkh({ pubkey, network }), network }).address,
    ),
    [`${prefix}_P2WPKH`]: secp((pubkey) => payments.p2wpkh({ pubkey, network }).address),
    [`${prefix}_P2WSH`]: secp(
      (pubkey) => payments.p2wsh({ redeem: payments.p2pk({ pubkey, network }), network }).address,
    ),
    [`${prefix}_P2TR`]: secp((pubkey) => payments.p2tr({ internalPubkey: toXOnly(pubkey), network }).address),
  };
}

/** Dogecoin Core, `chainparams.cpp`: base58 prefixes 30 and 113. */
const dogecoin = (pubKeyHash: number): Derive => {
  const network = { ...networks.bitcoin, pubKeyHash };
  return (pubkey) => payments.p2pkh({ pubkey, network }).address;
};

const cosmos =
  (prefix: string): Derive =>
  (publicKey) =>
    pubkeyToAddress(encodeSecp256k1Pubkey(publicKey), prefix);

function ethereum(publicKey: Uint8Array): string {
  const address = publicKeyToAddress(`0x${hex(uncompressed(secp256k1, publicKey))}`);
  if (computeAddress(`0x${hex(publicKey)}`) !== address) throw new Error("viem and ethers disagree");
  return address;
}

async function solana(publicKey: Uint8Array): Promise<string> {
  const key = await crypto.subtle.importKey("raw", Uint8Array.from(publicKey), "Ed25519", true, ["verify"]);
  return getAddressFromPublicKey(key);
}

const tronAddress = (publicKey: Uint8Array): string =>
  tron.crypto.getBase58CheckAddress(tron.crypto.computeAddress([...uncompressed(secp256k1, publicKey)]));

const ton = (contract: typeof WalletContractV3R2 | typeof WalletContractV4 | typeof WalletContractV5R1): Derive => {
  return (publicKey) => {
    const wallet = contract.create({ workchain: 0, publicKey: Buffer.from(publicKey) });
    return wallet.address.toString({ bounceable: false, urlSafe: true, testOnly: false });
  };
};

const spark =
  (network: "MAINNET" | "REGTEST"): Derive =>
  (publicKey) =>
    encodeSparkAddress({ identityPublicKey: hex(publicKey), network });

/** By the name of the file of vectors; formats without `ADDRESS_FORMAT_`. */
export const chains: Record<string, Chain> = {
  "public-keys": {
    library: "@noble/curves",
    formats: {
      COMPRESSED: { CURVE_SECP256K1: hex, CURVE_ED25519: hex, CURVE_P256: hex },
      UNCOMPRESSED: {
        CURVE_SECP256K1: (publicKey) => hex(uncompressed(secp256k1, publicKey)),
        CURVE_P256: (publicKey) => hex(uncompressed(p256, publicKey)),
      },
    },
  },
  ethereum: { library: "viem", formats: { ETHEREUM: secp(ethereum) } },
  solana: { library: "@solana/kit", formats: { SOLANA: edwards(solana) } },
  cosmos: { library: "@cosmjs/amino", formats: { COSMOS: secp(cosmos("cosmos")) } },
  sei: { library: "@cosmjs/amino", formats: { SEI: secp(cosmos("sei")) } },
  tron: { library: "tronweb", formats: { TRON: secp(tronAddress) } },
  sui: {
    library: "@mysten/sui",
    formats: { SUI: edwards((publicKey) => new SuiPublicKey(publicKey).toSuiAddress()) },
  },
  aptos: {
    library: "@aptos-labs/ts-sdk",
    formats: { APTOS: edwards((publicKey) => new AptosPublicKey(publicKey).authKey().derivedAddress().toString()) },
  },
  stellar: {
    library: "@stellar/stellar-base",
    formats: { XLM: edwards((publicKey) => StrKey.encodeEd25519PublicKey(Buffer.from(publicKey))) },
  },
  xrp: { library: "ripple-keypairs", formats: { XRP: secp((publicKey) => rippleAddress(hex(publicKey))) } },
  ton: {
    library: "@ton/ton",
    formats: {
      TON_V3R2: edwards(ton(WalletContractV3R2)),
      TON_V4R2: edwards(ton(WalletContractV4)),
      TON_V5R1: edwards(ton(WalletContractV5R1)),
    },
  },
  spark: {
    library: "@buildonspark/spark-sdk",
    formats: { SPARK_MAINNET: secp(spark("MAINNET")), SPARK_REGTEST: secp(spark("REGTEST")) },
  },
  doge: {
    library: "bitcoinjs-lib",
    formats: { DOGE_MAINNET: secp(dogecoin(0x1e)), DOGE_TESTNET: secp(dogecoin(0x71)) },
  },
  bitcoin: {
    library: "bitcoinjs-lib",
    formats: {
      ...bitcoin("MAINNET", networks.bitcoin),
      ...bitcoin("TESTNET", networks.testnet),
      ...bitcoin("SIGNET", networks.testnet),
      ...bitcoin("REGTEST", networks.regtest),
    },
  },
};
