import { type Static, Type } from "typebox";
import { messageOf32 } from "../../crypto/personal-messages.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import type { ClaimOrder } from "../../providers/swaps/provider.ts";
import { askSigner } from "../signing/model.ts";
import { findSigningKey, signingKeyFacts } from "../signing/store.ts";
import { asking, findConfig, requireSwaps } from "./store.ts";

/** The address whose key signs; lowercase. The signer checks the key against the plan, because the request body does not name it. */
const Plan = Type.Object({ receiver: Type.String() });
type Plan = Static<typeof Plan>;

export const claimSwapFees = activity({
  path: "claim_swap_fees",
  summary:
    "Have the swap provider pay out the fees from the swaps of the organization and its sub-organizations, to the receiver of the organization's fees.",
  only: "parents",
  needs: ["swaps"],
  asks: ["sign"],
  intent: Strict({}),
  result: Type.Object({ requestId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check: (_, { swaps }) => void requireSwaps(swaps),
  plan: {
    schema: Plan,
    async make({ read, organization }) {
      const { receiver } = (await findConfig(read, organization.id)) ?? {};
      if (receiver !== undefined) return { receiver };
      return fail("SWAP_FEES_NOT_CLAIMABLE", { reason: "no receiver is set; set one with upsert_swap_config" });
    },
  },
  policyFacts: ({ plan: { receiver }, read, organization }) => signingKeyFacts(read, organization.id, receiver),
  // If the claim succeeds and the activity is not stored, it has still paid only the fees due, to their receiver.
  prepare: claim,
  run: async ({ prepared: requestId }) => ({ requestId }),
});

type Context = PrepareContext<object, "sign", Plan, "swaps">;

async function claim(context: Context): Promise<string> {
  const { organization, plan, swaps: configured } = context;
  const { receiver } = plan;
  const swaps = requireSwaps(configured);
  const order = await asking(swaps, () => swaps.claimFor(organization.id, receiver));
  if (!order) return fail("SWAP_FEES_NOT_CLAIMABLE", { reason: `nothing has accrued for ${receiver} yet` });
  const signature = await signatureOf(context, order);
  await asking(swaps, () => swaps.permit(organization.id, order, signature));
  return order.requestId;
}

async function signatureOf(context: Context, { message }: ClaimOrder): Promise<string> {
  const key = await findSigningKey(context.read, context.organization.id, context.plan.receiver);
  const payloads = [messageOf32(message)];
  const [{ r = "", s = "", v = "" } = {}] = await askSigner(context, key, { hash: "keccak256", payloads });
  return `0x${r}${s}${v === "01" ? "1c" : "1b"}`;
}
