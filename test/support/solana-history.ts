import type { Address, Instruction } from "@solana/kit";
import type { Client } from "./client.ts";
import { compiled } from "./solana.ts";
import type { SolanaNode } from "./solana-node.ts";
import { latestBlockhash, newStranger, SOL, transfer } from "./solana-sender.ts";

/** What tests of histories of Solana do again and again. */

/** The address of a new wallet's Solana account, with nothing on it. */
export async function newSolanaAddress(client: Client): Promise<Address> {
  const account = { curve: "CURVE_ED25519", pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/501'/0'/0'" };
  const accounts = [{ ...account, addressFormat: "ADDRESS_FORMAT_SOLANA" }];
  const { addresses } = await client.result("create_wallet", { walletName: `Wallet ${crypto.randomUUID()}`, accounts });
  return addresses[0];
}

/** A stranger with SOL who sends what a test wants. */
export async function fundedStranger(node: SolanaNode) {
  const stranger = newStranger();
  await node.call("requestAirdrop", stranger.address, Number(1000n * SOL));
  const sign = async (instructions: readonly Instruction[]): Promise<Buffer> => {
    const blockhash = await latestBlockhash(node);
    return stranger.sign(compiled({ version: "legacy", payer: stranger.address, blockhash, instructions }));
  };
  const give = async (wire: Buffer): Promise<string> =>
    (await node.call("sendTransaction", wire.toString("base64"), {
      encoding: "base64",
      skipPreflight: true,
    })) as string;
  return {
    address: stranger.address,
    sign,
    give,
    send: async (...instructions: Instruction[]): Promise<string> => give(await sign(instructions)),
    pay: async (to: Address, amount: bigint): Promise<string> =>
      give(await sign([transfer(stranger.address, to, amount)])),
  };
}
