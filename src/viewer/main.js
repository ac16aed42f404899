/*
 * main.js: the page starts here: the embedded data is read, then the page is made.
 */
import { App } from './app.js';
import { readRecording } from './data.js';
import { find } from './dom.js';

async function start() {
    const holder = find('recording');
    try {
        const recording = await readRecording(holder.textContent);
        holder.remove();
        const app = new App(recording);
        document.documentElement.classList.add('ready');
        /* For tests: the boxes that were drawn last, as the mouse finds them; and whether the
         * address is up to date. */
        window.trueflame = Object.freeze({
            isSettled: () => app.addressTimer === 0,
            boxes: () => app.view.graphs().map((graph) => graph.boxes.map((box) => ({
                ...box, name: app.model.names[graph.tree.frame[box.node] >>> 1],
                inlined: (graph.tree.frame[box.node] & 1) === 1,
            }))),
        });
    } catch (problem) {
        find('panel').textContent = `This page cannot be shown: ${problem.message}`;
        throw problem;
    }
}

start();
