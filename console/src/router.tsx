import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { type ActivityFilter, isActivityType } from "./api/activities.ts";
import { isId } from "./ids.ts";
import { NotFound, Shell } from "./pages/shell.tsx";
import { Loading } from "./parts/loading.tsx";
import { ProblemNote } from "./parts/problem-note.tsx";
import { STATUS_WORDS } from "./parts/texts.tsx";

/** Every page. They stand behind the `#` of the one address that the server serves, so none can take a path of the API. */

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const overview = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/overview.tsx"), "Overview"),
});
const activities = createRoute({
  getParentRoute: () => root,
  path: "/activities",
  validateSearch: ({ statuses, types, userId, from, to }: Record<string, unknown>): Partial<ActivityFilter> => ({
    ...(typeof userId === "string" && isId(userId) ? { userId } : {}),
    ...(typeof from === "number" ? { from } : {}),
    ...(typeof to === "number" ? { to } : {}),
    ...(Array.isArray(statuses) ? { statuses: statuses.filter((each) => each in STATUS_WORDS) } : {}),
    ...(Array.isArray(types) ? { types: types.filter(isActivityType) } : {}),
  }),
  component: lazyRouteComponent(() => import("./pages/activities.tsx"), "Activities"),
});
const activity = createRoute({
  getParentRoute: () => root,
  path: "/activities/$activityId",
  component: lazyRouteComponent(() => import("./pages/activity.tsx"), "Activity"),
});
const wallets = createRoute({
  getParentRoute: () => root,
  path: "/wallets",
  component: lazyRouteComponent(() => import("./pages/wallets.tsx"), "Wallets"),
});
const wallet = createRoute({
  getParentRoute: () => root,
  path: "/wallets/$walletId",
  component: lazyRouteComponent(() => import("./pages/wallet.tsx"), "Wallet"),
});
const address = createRoute({
  getParentRoute: () => root,
  path: "/wallets/$walletId/addresses/$address",
  component: lazyRouteComponent(() => import("./pages/address.tsx"), "AddressPage"),
});
const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: lazyRouteComponent(() => import("./pages/keys.tsx"), "Keys"),
});
const users = createRoute({
  getParentRoute: () => root,
  path: "/users",
  component: lazyRouteComponent(() => import("./pages/users.tsx"), "Users"),
});
const user = createRoute({
  getParentRoute: () => root,
  path: "/users/$userId",
  component: lazyRouteComponent(() => import("./pages/user.tsx"), "User"),
});
const organization = createRoute({
  getParentRoute: () => root,
  path: "/organization",
  component: lazyRouteComponent(() => import("./pages/organization.tsx"), "Organization"),
});
const subOrganizations = createRoute({
  getParentRoute: () => root,
  path: "/sub-organizations",
  component: lazyRouteComponent(() => import("./pages/sub-organizations.tsx"), "SubOrganizations"),
});
const subOrganization = createRoute({
  getParentRoute: () => root,
  path: "/sub-organizations/$subOrganizationId",
  component: lazyRouteComponent(() => import("./pages/sub-organization.tsx"), "SubOrganization"),
});
const policies = createRoute({
  getParentRoute: () => root,
  path: "/policies",
  component: lazyRouteComponent(() => import("./pages/policies.tsx"), "Policies"),
});
const simulate = createRoute({
  getParentRoute: () => root,
  path: "/policies/simulate",
  validateSearch: ({ activity: id }: Record<string, unknown>): { activity?: string } =>
    typeof id === "string" ? { activity: id } : {},
  component: lazyRouteComponent(() => import("./pages/simulate.tsx"), "Simulate"),
});
const policy = createRoute({
  getParentRoute: () => root,
  path: "/policies/$policyId",
  component: lazyRouteComponent(() => import("./pages/policy.tsx"), "PolicyPage"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./pages/sign-in-settings.tsx"), "SignInSettings"),
});
const products = createRoute({
  getParentRoute: () => root,
  path: "/products",
  validateSearch: ({ app }: Record<string, unknown>): { app?: string } =>
    typeof app === "string" && isId(app) ? { app } : {},
  component: lazyRouteComponent(() => import("./pages/products.tsx"), "Products"),
});
const webhooks = createRoute({
  getParentRoute: () => root,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("./pages/webhooks.tsx"), "Webhooks"),
});
const explorer = createRoute({
  getParentRoute: () => root,
  path: "/api",
  component: lazyRouteComponent(() => import("./pages/explorer.tsx"), "Explorer"),
});

export const router = createRouter({
  // Whoever goes back to a list is where they were in it.
  scrollRestoration: true,
  routeTree: root.addChildren([
    overview,
    activities,
    activity,
    wallets,
    wallet,
    address,
    keys,
    users,
    user,
    organization,
    subOrganizations,
    subOrganization,
    policies,
    simulate,
    policy,
    webhooks,
    signIn,
    products,
    explorer,
  ]),
  history: createHashHistory(),
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <ProblemNote error={error} retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
