import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import { listInTurn } from "../sending/store.ts";
import { questions, shownAddress } from "./contracts.ts";
import { caip19Of, EarnAddress, Provider, shownAmount } from "./model.ts";
import { findTotals, findWrappers, shownTotals, type Wrapper } from "./store.ts";

const PositionItem = Type.Object(
  {
    vaultAddress: Type.String(),
    wrapperAddress: Type.String(),
    provider: Provider,
    caip19: Type.String(),
    /**
     * What a withdrawal would pay now, after the fee, in the asset's smallest units, like all amounts except those for display. Absent while the
     * vault does not report it.
     */
    currentValue: Type.Optional(Type.String()),
    totalDeposited: Type.String(),
    totalWithdrawn: Type.String(),
    display: Type.Object(
      {
        currentValueUsd: Type.Optional(Type.String()),
        totalDepositedUsd: Type.Optional(Type.String()),
        totalWithdrawnUsd: Type.Optional(Type.String()),
        currentValueCrypto: Type.Optional(Type.String()),
        totalDepositedCrypto: Type.Optional(Type.String()),
        totalWithdrawnCrypto: Type.Optional(Type.String()),
      },
      { $id: "EarnPositionDisplay" },
    ),
    depositsDisabled: Type.Boolean(),
  },
  { $id: "EarnPosition" },
);

export const listEarnPositions = query({
  path: "list_earn_positions",
  summary:
    "List what a wallet has in the wrappers of the organization or its parent: the value, the deposits and the withdrawals.",
  needs: ["evm", "assets"],
  request: Type.Object({ organizationId: Id, walletAddress: EarnAddress }),
  response: Type.Object({ positions: Type.Array(PositionItem) }),
  async run({ request, read, organization, evm, assets }) {
    const wallet = request.walletAddress.toLowerCase();
    const wrappers = await findWrappers(read, organization);
    const totals = await findTotals(read, organization.id, wallet);
    const values = await listInTurn(organization, () => valuesOf(evm, wrappers, wallet));
    const positions = wrappers.flatMap((wrapper) => {
      if (!values.has(wrapper.wrapperAddress)) return [];
      const current = values.get(wrapper.wrapperAddress);
      const { totalDeposited, totalWithdrawn } = shownTotals(totals.get(wrapper.wrapperAddress));
      const value = current === undefined ? {} : { currentValue: current };
      const display = { ...value, totalDeposited, totalWithdrawn };
      return [
        {
          vaultAddress: shownAddress(wrapper.vaultAddress),
          wrapperAddress: shownAddress(wrapper.wrapperAddress),
          provider: wrapper.provider,
          caip19: caip19Of(wrapper.asset),
          ...(current === undefined ? {} : { currentValue: String(current) }),
          totalDeposited: String(totalDeposited),
          totalWithdrawn: String(totalWithdrawn),
          display: Object.fromEntries(
            Object.entries(display).flatMap(([name, amount]) => {
              const { crypto, usd } = shownAmount(assets, wrapper.asset, amount);
              return [[`${name}Crypto`, crypto] as const, ...(usd === undefined ? [] : [[`${name}Usd`, usd] as const])];
            }),
          ),
          depositsDisabled: wrapper.depositsDisabled,
        },
      ];
    });
    return { positions };
  },
});

/** The value of a wallet's shares, by wrapper; undefined if the vault does not report it. */
async function valuesOf(
  evm: EvmNodes,
  wrappers: readonly Wrapper[],
  wallet: string,
): Promise<Map<string, bigint | undefined>> {
  const values = new Map<string, bigint | undefined>();
  for (const chain of new Set(wrappers.map((one) => one.chain))) {
    const ofChain = wrappers.filter((one) => one.chain === chain).map(({ wrapperAddress }) => wrapperAddress);
    const shares = await readContracts(
      evm,
      chain,
      ofChain.map((wrapper) => questions.balanceOf(wrapper, wallet)),
    );
    const held = ofChain.flatMap((wrapper, index) => {
      const count = wordIn(shares[index]) ?? 0n;
      return count > 0n ? [{ wrapper, count }] : [];
    });
    const worth = await readContracts(
      evm,
      chain,
      held.map(({ wrapper, count }) => questions.previewRedeem(wrapper, count)),
    );
    for (const [index, { wrapper }] of held.entries()) values.set(wrapper, wordIn(worth[index]));
  }
  return values;
}
