import { Button, Kbd, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure, useHotkeys } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
import type { AnswerOf, RequestOf, Schemas, ShownActivity } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { ACTIVITY_TYPES } from "../api/operations.gen.ts";
import { readSubOrganizations } from "../api/sub-organizations.ts";
import { isId } from "../ids.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Name, typeWords } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";

/** One place to find anything by its name, e-mail, address or id: opened by a button, or Ctrl-K. */
export function Search() {
  const [isOpen, { open, close }] = useDisclosure();
  useHotkeys([["mod+K", open]], []);
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open} flex="none">
        Search
        <Kbd size="xs" visibleFrom="sm" ml="xs">
          Ctrl K
        </Kbd>
      </Button>
      {isOpen && <SearchDialog onClose={close} />}
    </>
  );
}

/** What was found: what it is called, of which kind, and its page. */
interface Found {
  key: string;
  kind: string;
  name: string;
  to:
    | "/activities"
    | "/activities/$activityId"
    | "/users/$userId"
    | "/wallets/$walletId"
    | "/policies/$policyId"
    | "/sub-organizations/$subOrganizationId"
    | "/keys"
    | "/organization"
    | "/webhooks"
    | "/products";
  params: Record<string, string>;
  /** What the page is to show of itself. */
  search?: Record<string, unknown>;
}

const MAX_FOUND = 20;
const ACCOUNTS = "100";
const NEWEST_INVITATIONS = "100";
/** Of those whose address or name begins so. */
const MAX_BEGINNING = "10";

function SearchDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const { found, isPending, errors, retry } = useFound(text.trim());
  const openFirst = (event: KeyboardEvent) => {
    const [first] = found;
    if (event.key !== "Enter" || !first) return;
    event.preventDefault();
    onClose();
    void navigate({ to: first.to, params: first.params as never, search: (first.search ?? {}) as never });
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <Stack onKeyDown={byArrows}>
        <TextInput
          aria-label="Search for"
          description="A name, an email address, an ID, an address, a key, or a kind of activity. Sub-organizations are found only by the whole of it, and wallet accounts beyond the first hundred by the beginning of their address or name, or by their whole ID."
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={openFirst}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        {errors.length > 0 && <ProblemNote error={errors[0]} retry={retry} />}
        <div role="status">
          {text.trim() !== "" && isPending && <Text c="dimmed">Searching …</Text>}
          {text.trim() !== "" && !isPending && found.length === 0 && (
            <Text c="dimmed">
              {errors.length > 0 ? "Nothing was found in what could be read." : "Nothing has that name."}
            </Text>
          )}
        </div>
        {found.map(({ key, kind, name, to, params, search = {} }) => (
          <Text key={key}>
            <Link to={to} params={params as never} search={search as never} onClick={onClose}>
              <Name>{name}</Name>
            </Link>{" "}
            <Text component="span" size="sm" c="dimmed">
              {kind}
            </Text>
          </Text>
        ))}
      </Stack>
    </Dialog>
  );
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** From the field to what was found and back, one by one. */
function byArrows(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  if (step === undefined) return;
  const places = [...event.currentTarget.querySelectorAll<HTMLElement>("input, a")];
  const next = places[places.indexOf(event.target as HTMLElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

interface Search {
  found: Found[];
  /** Whether something may still be found. */
  isPending: boolean;
  errors: unknown[];
  retry: () => void;
}

function useFound(text: string): Search {
  const answers = {
    wallets: useAnswer("list_wallets", {}),
    accounts: useAnswer("list_wallet_accounts", { paginationOptions: { limit: ACCOUNTS } }),
    users: useAnswer("list_users", {}),
    keys: useAnswer("list_private_keys", {}),
    policies: useAnswer("list_policies", {}),
    tags: useAnswer("list_user_tags", {}),
    keyTags: useAnswer("list_private_key_tags", {}),
    endpoints: useAnswer("list_webhook_endpoints", {}),
    apps: useAnswer("list_tvc_apps", {}),
    invitations: useAnswer("list_invitations", { paginationOptions: { limit: NEWEST_INVITATIONS } }),
  };
  const subOrganizations = useSubOrganizations(text);
  const activity = useAnswer("get_activity", { activityId: text }, { enabled: isId(text) });
  const deployment = useAnswer("get_tvc_deployment", { deploymentId: text }, { enabled: isId(text) });
  const accounts = useAccounts(text);
  const lists = Object.values(answers);
  const asks = [...lists, ...accounts.asks];
  return {
    found:
      text === ""
        ? []
        : withoutDoubles([
            ...foundIn(text, answers, activity.data?.activity),
            ...deploymentsIn(deployment.data, text),
            ...accounts.found,
            ...subOrganizations.found,
            ...kindsOfActivities(text),
          ]),
    isPending:
      lists.some((list) => list.isPending) ||
      activity.isFetching ||
      deployment.isFetching ||
      subOrganizations.isPending ||
      accounts.isPending,
    // That no activity or deployment has this id says nothing of other things.
    errors: asks.flatMap((list) => (list.error ? [list.error] : [])),
    retry: () => {
      for (const list of asks) if (list.isError) void list.refetch();
    },
  };
}

/** Of all wallets, however many: those whose address or name begins so, and the one with this id. Asked for once nobody types. */
function useAccounts(text: string) {
  const [sought] = useDebouncedValue(text, TYPING_MS);
  const isSought = sought === text && text !== "";
  const mayBe = { id: isId(text), address: ADDRESS.test(text), name: NAME.test(text) };
  const paginationOptions = { limit: MAX_BEGINNING };
  const withId = useAnswer(
    "list_wallet_accounts",
    { filterByWalletAccountId: sought.toLowerCase() },
    { enabled: isSought && mayBe.id },
  );
  const beginning = [
    useAnswer(
      "list_wallet_accounts",
      { filterByAddressPrefix: sought, paginationOptions },
      { enabled: isSought && mayBe.address },
    ),
    useAnswer(
      "list_wallet_accounts",
      { filterByNamePrefix: sought, paginationOptions },
      { enabled: isSought && mayBe.name },
    ),
  ];
  const isAny = Object.values(mayBe).some((may) => may);
  const asks = [withId, ...beginning];
  return {
    // That no account has this id says nothing of others.
    asks: beginning,
    found: isSought ? asks.flatMap(({ data }) => data?.accounts ?? []).map(foundAccount) : [],
    isPending: isAny && (!isSought || asks.some(({ isFetching, data }) => isFetching && data === undefined)),
  };
}

/** The lists of activities whose kind is called so, in words or by the API's constant. */
function kindsOfActivities(text: string): Found[] {
  const sought = text.toLowerCase();
  if (sought.length < SHORTEST_KIND) return [];
  return Object.values(ACTIVITY_TYPES)
    .filter((type) => `${typeWords(type)} ${type}`.toLowerCase().includes(sought))
    .slice(0, MAX_KINDS)
    .map((type) => ({
      ...found("kind of activity", type, typeWords(type), "/activities", {}),
      search: { types: [type] },
    }));
}

/** Shorter ones are in nearly every kind. */
const SHORTEST_KIND = 3;
const MAX_KINDS = 5;

const withoutDoubles = (all: readonly Found[]): Found[] => [...new Map(all.map((each) => [each.key, each])).values()];

/** The answer to another text may be shown for a moment. */
function deploymentsIn(answer: AnswerOf<"get_tvc_deployment"> | undefined, text: string): Found[] {
  if (answer?.tvcDeployment.id !== text.toLowerCase()) return [];
  const { id, appId, pivotContainer } = answer.tvcDeployment;
  return [{ ...found("deployment", id, pivotContainer.containerUrl, "/products", {}), search: { app: appId } }];
}

const foundAccount = ({ walletAccountId, address, name, walletId }: Schemas["WalletAccount"]): Found =>
  found(
    "account of a wallet",
    walletAccountId,
    name === undefined ? address : `${name}, ${address}`,
    "/wallets/$walletId",
    { walletId },
  );

/** What may be the beginning of an address, or all of it, or of a public key that accounts have in the place of one. */
const ADDRESS = /^[0-9a-z:_-]{4,1024}$/i;
/** What may be the beginning of a name: no longer than one. */
const NAME = /^.{1,255}$/u;

const TYPING_MS = 300;
const MAX_SUB_ORGANIZATIONS = "5";
type Filter = NonNullable<RequestOf<"list_suborgs">["filterType"]>;

/** By what such a text may be of a sub-organization. The server finds what is exactly that, among however many. */
function filtersFor(text: string): Filter[] {
  if (text.includes("@")) return ["EMAIL", "NAME", "USERNAME"];
  if (/^0[23][0-9a-f]{64}$/i.test(text)) return ["PUBLIC_KEY"];
  return /^[0-9a-z]{26,}$/i.test(text) ? ["WALLET_ACCOUNT_ADDRESS", "NAME"] : ["NAME", "USERNAME"];
}

/** Asked for once nobody types. An organization that can have none is told so by the server, and has found none. */
function useSubOrganizations(text: string): { found: Found[]; isPending: boolean } {
  const { api, organizationId, userId } = useSession();
  const [sought] = useDebouncedValue(text, TYPING_MS);
  const answer = useQuery({
    queryKey: [organizationId, userId, "search", sought],
    queryFn: async () => {
      const byId = isId(sought)
        ? [
            api
              .of(sought)
              .query("get_organization", {})
              .then(({ organizationData: { name = "" } }) => [{ id: sought.toLowerCase(), name }]),
          ]
        : filtersFor(sought).map((filterType) =>
            readSubOrganizations(api, {
              filterType,
              filterValue: sought,
              paginationOptions: { limit: MAX_SUB_ORGANIZATIONS },
            }),
          );
      const settled = await Promise.allSettled(byId);
      return settled
        .flatMap((each) => (each.status === "fulfilled" ? each.value : []))
        .filter(({ id }) => id !== organizationId);
    },
    enabled: sought !== "",
  });
  const all = sought === text ? (answer.data ?? []) : [];
  return {
    found: all.map(({ id, name }) =>
      found("sub-organization", id, name, "/sub-organizations/$subOrganizationId", { subOrganizationId: id }),
    ),
    isPending: text !== "" && (sought !== text || answer.isPending),
  };
}

interface Answers {
  wallets: { data: AnswerOf<"list_wallets"> | undefined };
  accounts: { data: AnswerOf<"list_wallet_accounts"> | undefined };
  users: { data: AnswerOf<"list_users"> | undefined };
  keys: { data: AnswerOf<"list_private_keys"> | undefined };
  policies: { data: AnswerOf<"list_policies"> | undefined };
  tags: { data: AnswerOf<"list_user_tags"> | undefined };
  keyTags: { data: AnswerOf<"list_private_key_tags"> | undefined };
  endpoints: { data: AnswerOf<"list_webhook_endpoints"> | undefined };
  apps: { data: AnswerOf<"list_tvc_apps"> | undefined };
  invitations: { data: AnswerOf<"list_invitations"> | undefined };
}

function foundIn(text: string, answers: Answers, activity: ShownActivity | undefined): Found[] {
  const { wallets = [] } = answers.wallets.data ?? {};
  const { accounts = [] } = answers.accounts.data ?? {};
  const { users = [] } = answers.users.data ?? {};
  const { privateKeys = [] } = answers.keys.data ?? {};
  const { policies = [] } = answers.policies.data ?? {};
  const { userTags = [] } = answers.tags.data ?? {};
  const { privateKeyTags = [] } = answers.keyTags.data ?? {};
  const { webhookEndpoints = [] } = answers.endpoints.data ?? {};
  const { tvcApps = [] } = answers.apps.data ?? {};
  const { invitations = [] } = answers.invitations.data ?? {};
  const sought = text.toLowerCase();
  const has = (...texts: (string | undefined)[]) => texts.some((each) => each?.toLowerCase().includes(sought));
  const all: Found[] = [
    ...(activity?.id === text.toLowerCase()
      ? [
          found("activity", activity.id, typeWords(activity.type), "/activities/$activityId", {
            activityId: activity.id,
          }),
        ]
      : []),
    ...wallets
      .filter(({ walletId, walletName }) => has(walletId, walletName))
      .map(({ walletId, walletName }) => found("wallet", walletId, walletName, "/wallets/$walletId", { walletId })),
    ...accounts.filter(({ address, walletAccountId, name }) => has(address, walletAccountId, name)).map(foundAccount),
    ...users
      .filter(({ userId, userName, userEmail, userPhoneNumber, apiKeys }) =>
        has(userId, userName, userEmail, userPhoneNumber, ...apiKeys.map(({ credential }) => credential.publicKey)),
      )
      .map(({ userId, userName }) => found("user", userId, userName, "/users/$userId", { userId })),
    ...privateKeys
      .filter(({ privateKeyId, privateKeyName, publicKey, addresses }) =>
        has(privateKeyId, privateKeyName, publicKey, ...addresses.map(({ address }) => address)),
      )
      .map(({ privateKeyId, privateKeyName }) => found("private key", privateKeyId, privateKeyName, "/keys", {})),
    ...policies
      .filter(({ policyId, policyName }) => has(policyId, policyName))
      .map(({ policyId, policyName }) => found("policy", policyId, policyName, "/policies/$policyId", { policyId })),
    ...userTags
      .filter(({ tagId, tagName }) => has(tagId, tagName))
      .map(({ tagId, tagName }) => found("user tag", tagId, tagName, "/organization", {})),
    ...privateKeyTags
      .filter(({ tagId, tagName }) => has(tagId, tagName))
      .map(({ tagId, tagName }) => found("tag of private keys", tagId, tagName, "/keys", {})),
    ...webhookEndpoints
      .filter(({ endpointId, name, url }) => has(endpointId, name, url))
      .map(({ endpointId, name }) => found("webhook endpoint", endpointId, name, "/webhooks", {})),
    ...tvcApps
      .filter(({ id, name, publicDomain }) => has(id, name, publicDomain))
      .map(({ id, name }) => ({ ...found("app", id, name, "/products", {}), search: { app: id } })),
    ...invitations
      .filter(({ invitationId, receiverUserName, receiverUserEmail }) =>
        has(invitationId, receiverUserName, receiverUserEmail),
      )
      .map(({ invitationId, receiverUserName }) =>
        found("invitation", invitationId, receiverUserName, "/organization", {}),
      ),
  ];
  return all.slice(0, MAX_FOUND);
}

const found = (kind: string, key: string, name: string, to: Found["to"], params: Found["params"]): Found => ({
  key,
  kind,
  name,
  to,
  params,
});
