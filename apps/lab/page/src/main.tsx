import { LabPage } from './lab/lab-page.js';
import { show } from './shell.js';

show('lab', <LabPage />);
