import "@mantine/core/styles.css";
import "./style.css";
import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { problemOf } from "./api/problem.ts";
import { App } from "./app.tsx";
import { keepFocus } from "./kept-focus.ts";
import { styleNonce } from "./style-nonce.ts";
import { cssVariables, theme } from "./theme.ts";

const MAX_TRIES = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // What the server refused it refuses again.
      retry: (count, error) => error instanceof TypeError && count < MAX_TRIES,
      refetchOnWindowFocus: (query) => !(query.state.error && problemOf(query.state.error).isSignedOut),
    },
  },
});

keepFocus();

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
