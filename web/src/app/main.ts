// The pages of `fathom serve`.

import { mount } from "svelte";
import "../page.css";
import "./app.css";
import App from "./App.svelte";

const target = document.getElementById("app");
if (target) mount(App, { target });
