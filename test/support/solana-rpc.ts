/** What of the cluster a test tells from others by: the genesis of devnet. */
export const TEST_GENESIS = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";
export const TEST_CLUSTER = `solana:${TEST_GENESIS.slice(0, 32)}` as const;

/** A node to speak to. */
export interface SolanaRpc {
  url: string;
  /** The result of a call; throws with the node's message where there is none. */
  call(method: string, ...params: unknown[]): Promise<unknown>;
}

/** A node that somebody else started. */
export const solanaNodeAt = (url: string): SolanaRpc => ({
  url,
  async call(method, ...params) {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  },
});
